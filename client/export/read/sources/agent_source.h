// What processes recorded themselves: profd/agent_*.lanes and .names.
#pragma once

#include "client/export/read/capture.h"
#include "client/export/read/filter.h"
#include "client/export/read/sinks.h"
#include "format/events/agent_blocks.h"

namespace profd::client {

// What --kinds calls spans of this kind when a process recorded them.
format::AgentKind AgentKindOf(format::SpanKind kind);

// The kinds "agent-range", "agent-mark", …, process by process. `gave_kernels`: kernels have been given out
// already. Memory is bounded.
void DecodeAgents(const Capture& capture, const Wanted& wanted, bool gave_kernels, const Sinks& sinks);

}  // namespace profd::client
