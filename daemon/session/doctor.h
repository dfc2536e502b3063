// The daemon's own links of the chain that `profctl doctor` walks; the processes' are in targets.h.
#pragma once

#include <string>
#include <vector>

#include "daemon/agent/registry.h"
#include "daemon/auth/policy.h"
#include "daemon/host/collectors.h"
#include "daemon/session/check.h"
#include "daemon/session/node.h"

namespace profd::session {

// The driver library and the devices. **Thread:** ctl.
std::vector<Check> CheckLibrary(const Node& node);
Check CheckRights(const auth::Caller& caller);
Check CheckAgents(const agent::Registry::Counts& agents);
// "msprof of user bob (pid 12)"; the pid is for who may see the process.
std::string Describe(const auth::Caller& caller, const host::Collector& collector);
// Reads /proc: not on ctl. Programs other than this profd that collect from NPUs, "msprof of user bob"; root
// also learns their pids. "" = none known.
std::string OtherCollectors(const auth::Caller& caller);
Check CheckCollectors(const auth::Caller& caller);
// What this machine gives of itself. Asks the kernel: not on ctl.
Check CheckHostKinds();
// Blocks on the disk. **Thread:** any but ctl.
Check CheckSpool(const std::string& spool);

}  // namespace profd::session
