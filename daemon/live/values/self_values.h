// What sessions, agents and queues of profd are at, as values.
#pragma once

#include <vector>

#include "daemon/agent/registry.h"
#include "daemon/live/values/metric.h"
#include "daemon/session/manager.h"

namespace profd::live {

// **Thread:** ctl.
void AddSelfValues(session::Manager& manager, const agent::Registry& agents, std::vector<Sample>& samples);

}  // namespace profd::live
