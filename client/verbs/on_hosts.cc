#include "client/verbs/on_hosts.h"

#include <sys/resource.h>

#include <utility>
#include <vector>

#include "client/fleet/fleet.h"
#include "client/fleet/hosts.h"
#include "client/fleet/rounds.h"
#include "client/node/connection.h"
#include "client/words/args.h"
#include "remote/etcd.h"

namespace profd::client {

namespace {

constexpr char kRegistered[] = "/profd/nodes/";

// A node that hangs keeps its connection until the end.
void RaiseFileLimit() {
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
}

base::Result<Entries> Registered(const Many& many, const Context& context, const std::string& prefix) {
  if (many.etcd.empty())
    return base::Status(base::Code::kInvalidArgument, "name the endpoints of the etcd with --etcd");
  const bool tls = many.etcd.find("https://") != std::string::npos;
  remote::Credentials credentials = remote::Credentials::None();
  if (tls) {
    PROFD_ASSIGN_OR_RETURN(credentials, CredentialsOf(context));
  }
  PROFD_ASSIGN_OR_RETURN(const auto etcd, remote::Etcd::Open(many.etcd, credentials));
  return etcd->List(prefix.empty() ? kRegistered : prefix);
}

}  // namespace

std::string AgainstMany(const Verb& verb, const Action& action, const Context& context) {
  const std::string name = verb.name;
  if (verb.reach == Reach::kHere) return "--hosts: " + name + " works on this node only";
  if (!context.host.empty()) return "--host and --hosts: give one of them";
  if (verb.reach == Reach::kOneNode) return name + " shows one node: --host";
  return action.against_many ? action.against_many() : "";
}

ExitCode RunOnHosts(const Many& many, const Verb& verb, const Action& action, const Context& context) {
  const auto parallel = ParseCount("--parallel", many.parallel, 4096);
  if (!parallel.ok()) return context.Fail(parallel.status());
  const Registry registry = [&](const std::string& prefix) { return Registered(many, context, prefix); };
  const auto hosts = ExpandHosts(many.hosts, registry);
  if (!hosts.ok()) return context.Fail(hosts.status());
  RaiseFileLimit();
  if (action.run_on_many) return action.run_on_many(context, *hosts, *parallel);
  if (verb.reach == Reach::kStreams)
    return ReportAnswers(context, AskEach(context, *hosts, *parallel, action.run));
  Way way{.relays = {}, .parallel = *parallel};
  if (!many.relays.empty()) {
    auto relays = ExpandHosts(many.relays, registry);
    if (!relays.ok()) return context.Fail(relays.status());
    way.relays = std::move(relays).value();
  }
  const auto answers = AskInRounds(way, context, *hosts, action.ask);
  return answers.ok() ? ReportAnswers(context, *answers) : context.Fail(answers.status());
}

}  // namespace profd::client
