// Packets of Perfetto's trace format that hold an event, written straight into a file's buffer.
#pragma once

#include <cstdint>
#include <cstring>

#include "client/export/perfetto/perfetto_fields.h"
#include "client/export/write/proto_text.h"
#include "format/events/spans.h"

namespace profd::client {

// What stands between the stamp of a packet and what its event has of its own: always the same for one type
// of events on one track.
struct EventHead {
  char bytes[16];
  uint8_t size;
  uint8_t event;  // where the event begins

  EventHead(uint64_t type, uint64_t track) {
    char* at = proto::WriteTag<pb::kSequenceId, proto::Wire::kVarint>(bytes);
    *at++ = 1;
    if (type != pb::kTypeEnd) {  // which refers to no text
      at = proto::WriteTag<pb::kSequenceFlags, proto::Wire::kVarint>(at);
      *at++ = pb::kNeedsState;
    }
    at = proto::WriteTag<pb::kTrackEvent, proto::Wire::kBytes>(at) + proto::kLengthBytes;
    event = static_cast<uint8_t>(at - bytes);
    at = proto::WriteTag<pb::kEventType, proto::Wire::kVarint>(at);
    *at++ = static_cast<char>(type);
    constexpr uint64_t kMostTracks = uint64_t{1} << 35;  // five bytes
    at = proto::WriteVarint(proto::WriteTag<pb::kEventTrack, proto::Wire::kVarint>(at), track % kMostTracks);
    size = static_cast<uint8_t>(at - bytes);
  }
};

// Begins a packet at `at`; returns where more of the event may be written.
inline char* BeginPacket(char* at, uint64_t wall_ns, const EventHead& head) {
  at = proto::WriteTag<pb::kPacket, proto::Wire::kBytes>(at) + proto::kLengthBytes;
  at = proto::WriteVarint(proto::WriteTag<pb::kTimestamp, proto::Wire::kVarint>(at), wall_ns);
  std::memcpy(at, head.bytes, sizeof(head.bytes));
  return at + head.size;
}
// `packet`: where it began; `rest`: what BeginPacket() returned.
inline char* EndPacket(char* packet, char* rest, const EventHead& head, char* end) {
  char* const event = rest - head.size + head.event;
  proto::SetLength(event - proto::kLengthBytes, static_cast<size_t>(end - event));
  char* const fields = packet + 1 + proto::kLengthBytes;
  proto::SetLength(fields - proto::kLengthBytes, static_cast<size_t>(end - fields));
  return end;
}

// An annotation up to its value; its length, which is below 128, is the second byte.
template <uint32_t kField, proto::Wire kWire>
inline char* BeginAnnotation(char* at, uint64_t name) {
  at = proto::WriteTag<pb::kAnnotations, proto::Wire::kBytes>(at) + 1;
  at = proto::WriteVarint(proto::WriteTag<pb::kAnnotationNameIid, proto::Wire::kVarint>(at), name);
  return proto::WriteTag<kField, kWire>(at);
}
inline char* EndAnnotation(char* begin, char* end) {
  begin[1] = static_cast<char>(end - begin - 2);
  return end;
}

inline char* WriteNumber(char* at, uint64_t name, uint64_t value) {
  char* const to = BeginAnnotation<pb::kAnnotationUint, proto::Wire::kVarint>(at, name);
  return EndAnnotation(at, proto::WriteVarint(to, value));
}
inline char* WriteText(char* at, uint64_t name, uint64_t number) {
  char* const to = BeginAnnotation<pb::kAnnotationStringIid, proto::Wire::kVarint>(at, name);
  return EndAnnotation(at, proto::WriteVarint(to, number));
}
inline char* WriteValue(char* at, uint64_t name, const format::SpanArg& arg) {
  if (arg.type == format::ArgType::kU64) return WriteNumber(at, name, arg.bits);
  if (arg.type == format::ArgType::kI64) {
    char* const to = BeginAnnotation<pb::kAnnotationInt, proto::Wire::kVarint>(at, name);
    return EndAnnotation(at, proto::WriteVarint(to, arg.bits));
  }
  char* const to = BeginAnnotation<pb::kAnnotationDouble, proto::Wire::kFixed64>(at, name);
  return EndAnnotation(at, proto::WriteFixed64(to, arg.bits));
}

}  // namespace profd::client
