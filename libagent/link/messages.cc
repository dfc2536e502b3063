#include "libagent/link/messages.h"

#include <pb_decode.h>
#include <pb_encode.h>

namespace profd::agent::link {

size_t Encode(const profd_v1_AgentMessage& message, uint8_t* bytes, size_t room) {
  pb_ostream_t stream = pb_ostream_from_buffer(bytes, room);
  return pb_encode(&stream, profd_v1_AgentMessage_fields, &message) ? stream.bytes_written : 0;
}

bool Decode(const uint8_t* bytes, size_t size, profd_v1_AgentCommand* command) {
  pb_istream_t stream = pb_istream_from_buffer(bytes, size);
  return pb_decode(&stream, profd_v1_AgentCommand_fields, command);
}

}  // namespace profd::agent::link
