#include "daemon/fabric/datagram.h"

#include <cstring>

namespace profd::fabric {

namespace {

constexpr size_t kTypeBytes = 32;
constexpr size_t kRegistrationBytes = 16, kPollBytes = 16, kReportBytes = 32;

template <typename Number>
Number At(std::span<const uint8_t> bytes, size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof number);
  return number;
}

Message ReadRegistration(std::span<const uint8_t> body) {
  if (body.size() != kRegistrationBytes) return Drop::kBody;
  return Registration{At<int32_t>(body, 0), At<int32_t>(body, 4), At<int64_t>(body, 8)};
}

Message ReadPoll(std::span<const uint8_t> body) {
  if (body.size() < kPollBytes) return Drop::kBody;
  const auto count = At<int32_t>(body, 4);
  if (count <= 0 || static_cast<size_t>(count) > kMostPids) return Drop::kBody;
  if (body.size() != kPollBytes + 4 * static_cast<size_t>(count)) return Drop::kBody;
  Poll poll{At<uint32_t>(body, 0), At<int64_t>(body, 8), {}};
  for (size_t i = 0; i < static_cast<size_t>(count); ++i)
    poll.pids.push_back(At<int32_t>(body, kPollBytes + 4 * i));
  return poll;
}

Message ReadReport(std::span<const uint8_t> body, bool of_trace) {
  if (body.size() != kReportBytes) return Drop::kBody;
  return Report{of_trace, At<int32_t>(body, 0), At<int32_t>(body, 4), At<int32_t>(body, 8),
                At<int32_t>(body, 12)};
}

std::string Datagram(std::string_view type, std::string_view body) {
  std::string bytes(kHeaderBytes, '\0');
  const uint64_t size = body.size();
  std::memcpy(bytes.data(), &size, sizeof size);
  type.copy(bytes.data() + sizeof size, kTypeBytes - 1);
  return bytes.append(body);
}

}  // namespace

const char* DropName(Drop drop) {
  switch (drop) {
    case Drop::kLength:
      return "length";
    case Drop::kSize:
      return "size";
    case Drop::kType:
      return "type";
    case Drop::kBody:
      return "body";
    case Drop::kSender:
      return "sender";
    case Drop::kTooFast:
      return "too fast";
  }
  return "";
}

Message Read(std::span<const uint8_t> datagram) {
  if (datagram.size() < kHeaderBytes || datagram.size() > kMostBytes) return Drop::kLength;
  if (At<uint64_t>(datagram, 0) != datagram.size() - kHeaderBytes) return Drop::kSize;
  const auto* type = reinterpret_cast<const char*>(datagram.data()) + sizeof(uint64_t);
  const std::string_view name(type, ::strnlen(type, kTypeBytes));
  const std::span<const uint8_t> body = datagram.subspan(kHeaderBytes);
  if (name == "ctxt") return ReadRegistration(body);
  if (name == "req") return ReadPoll(body);
  if (name == "npuTraceStatus") return ReadReport(body, true);
  if (name == "npuMonitorStatus") return ReadReport(body, false);
  return Drop::kType;
}

std::string RegisteredAnswer(int32_t processes) {
  return Datagram("ctxt", {reinterpret_cast<const char*>(&processes), sizeof processes});
}

std::string PollAnswer(std::string_view config) { return Datagram("req", config); }

}  // namespace profd::fabric
