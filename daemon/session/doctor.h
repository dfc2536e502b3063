// The daemon's own links of the chain that `profctl doctor` walks; the processes' are in targets.h.
#pragma once

#include <string>
#include <vector>

#include "daemon/agent/registry.h"
#include "daemon/auth/policy.h"
#include "daemon/session/check.h"
#include "daemon/session/node.h"

namespace profd::session {

// The driver library and the devices. **Thread:** ctl.
std::vector<Check> CheckLibrary(const Node& node);
Check CheckRights(const auth::Caller& caller);
Check CheckAgents(const agent::Registry::Counts& agents);
// Reads /proc: not on ctl. Programs other than this profd that collect from NPUs, "msprof of user bob"; root
// also learns their pids. "" = none known.
std::string OtherCollectors(const auth::Caller& caller);
Check CheckCollectors(const auth::Caller& caller);
// Blocks on the disk. **Thread:** any but ctl.
Check CheckSpool(const std::string& spool);

}  // namespace profd::session
