// Certificates for TLS between profctl and profd on other nodes: an authority of one's own, and what it
// signs.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"

namespace profd::client {

// Two files of one name in a folder.
struct Issued {
  std::string certificate, key;
};

enum class Purpose {
  kNode,    // a profd that others connect to, and that asks others (a relay)
  kClient,  // who asks
};

// `ca.pem` and `ca.key` in `folder`, which is made if it isn't there. Nothing is ever overwritten.
base::Result<Issued> MakeAuthority(const std::string& folder, const std::string& name, unsigned days);

// `NAME.pem` and `NAME.key` beside them, signed. `names`: of a node all that callers connect to, host names
// and addresses, the first of which is NAME; of a client its one name.
base::Result<Issued> Issue(const std::string& folder, Purpose purpose, const std::vector<std::string>& names,
                           unsigned days);

}  // namespace profd::client
