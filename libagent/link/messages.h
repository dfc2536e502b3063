// profd.v1 agent messages ⇄ bytes, by nanopb.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profd/v1/agent.nanopb.h"

namespace profd::agent::link {

// Bytes written, 0 when they don't fit. **Thread:** any.
size_t Encode(const profd_v1_AgentMessage& message, uint8_t* bytes, size_t room);
// False: not a command, or one with texts that are too long. **Thread:** any.
bool Decode(const uint8_t* bytes, size_t size, profd_v1_AgentCommand* command);

}  // namespace profd::agent::link
