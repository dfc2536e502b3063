// A verb on many nodes: --hosts.
#pragma once

#include <string>

#include "client/verbs/verb.h"

namespace profd::client {

// As the command line has them.
struct Many {
  std::string hosts, relays, etcd, parallel = "128";
};

// Why the verb is not for many nodes; "" = it is.
std::string AgainstMany(const Verb& verb, const Action& action, const Context& context);

ExitCode RunOnHosts(const Many& many, const Verb& verb, const Action& action, const Context& context);

}  // namespace profd::client
