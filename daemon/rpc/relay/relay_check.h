// What this node may be told to ask others.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "profd/v1/relay.pb.h"

namespace profd::rpc {

// `nodes`: patterns (fnmatch) of those that it asks (remote.relay). **Thread:** any.
base::Status CheckRelay(const auth::Caller& caller, const v1::RelayRequest& request,
                        const std::vector<std::string>& nodes);

}  // namespace profd::rpc
