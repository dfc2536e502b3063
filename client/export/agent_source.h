// What processes recorded themselves: profd/agent_*.lanes and .names.
#pragma once

#include "client/export/capture.h"
#include "client/export/filter.h"
#include "client/export/pipeline.h"

namespace profd::client {

// The kinds "agent-range", "agent-mark", …, process by process. Memory is bounded.
void DecodeAgents(const Capture& capture, const Wanted& wanted, const Sinks& sinks);

}  // namespace profd::client
