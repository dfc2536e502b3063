// The daemon's own links of the chain that `profctl doctor` walks; the processes' are in targets.h.
#pragma once

#include <string>
#include <vector>

#include "daemon/agent/registry.h"
#include "daemon/auth/policy.h"
#include "daemon/config/config.h"
#include "daemon/fabric/door.h"
#include "daemon/host/process/collectors.h"
#include "daemon/session/node/check.h"
#include "daemon/session/node/node.h"

namespace profd::session {

// A new check is a function of doctor.cc, and a line in one of these two.

// Of what profd knows by itself: its driver, who asks, its agents. **Thread:** ctl.
std::vector<Check> CheckOwn(const Node& node, const auth::Caller& caller,
                            const agent::Registry::Counts& agents, fabric::Service& fabric);
// Of what the kernel and the disk must be asked for. **Thread:** any but ctl.
std::vector<Check> CheckMachine(const auth::Caller& caller, const config::Config& config);

// "msprof of user bob (pid 12)"; the pid is for who may see the process.
std::string Describe(const auth::Caller& caller, const host::Collector& collector);
// Reads /proc: not on ctl. Programs other than this profd that collect from NPUs, "msprof of user bob"; root
// also learns their pids. "" = none known.
std::string OtherCollectors(const auth::Caller& caller);

}  // namespace profd::session
