#include "daemon/driver/ascend/start/qos_streams.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "base/join.h"
#include "daemon/driver/ascend/start/channels.h"

namespace profd::driver {

using base::Code;
using base::Status;

namespace {

// Where a payload has the number of streams (u16), a u16 that says nothing, and their ids.
constexpr size_t kCountInQos = 4, kCountInSocProfile = 60;

std::string NamesOf(const DeviceFacts& device) { return base::Joined(device.qos, ", ", &QosStream::name); }

}  // namespace

std::string NameOfStream(uint8_t mpam_id) { return "mpam" + std::to_string(mpam_id); }

base::Result<std::vector<QosStream>> StreamsOf(std::string_view mode, const DeviceFacts& device) {
  std::vector<QosStream> streams;
  if (!mode.starts_with(kStreamsMode)) {
    streams.assign(device.qos.begin(),
                   device.qos.begin() + static_cast<ptrdiff_t>(std::min(device.qos.size(), kMaxQosStreams)));
    return streams;
  }
  std::string_view rest = mode.substr(kStreamsMode.size());
  while (!rest.empty()) {
    const size_t end = rest.find_first_of(",+");
    const std::string_view name = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (name.empty()) continue;
    const auto stream = std::ranges::find(device.qos, name, &QosStream::name);
    if (stream == device.qos.end()) {
      return Status(Code::kInvalidArgument, "device " + std::to_string(device.id) +
                                                " has no memory stream '" + std::string(name) + "': it has " +
                                                NamesOf(device));
    }
    streams.push_back(*stream);
  }
  if (streams.empty() || streams.size() > kMaxQosStreams) {
    return Status(Code::kInvalidArgument, "qos:" + std::string(mode) + ": name 1 to " +
                                              std::to_string(kMaxQosStreams) + " memory streams, of " +
                                              NamesOf(device));
  }
  return streams;
}

std::vector<QosStream> StreamsOfStart(uint32_t channel, const StartPara& para, const DeviceFacts& device) {
  if (channel != channel::kQos && channel != channel::kSocProfile) return {};
  const size_t at = channel == channel::kQos ? kCountInQos : kCountInSocProfile;
  const size_t ids = at + 2 * sizeof(uint16_t);
  std::vector<QosStream> streams;
  if (para.user_data_size < ids + kQosSlots) return streams;
  uint16_t count = 0;
  std::memcpy(&count, para.user_data.data() + at, sizeof count);
  for (size_t i = 0; i < std::min<size_t>(count, kQosSlots); ++i) {
    const auto id = static_cast<uint8_t>(para.user_data[ids + i]);
    const auto stream = std::ranges::find(device.qos, id, &QosStream::mpam_id);
    streams.push_back(stream == device.qos.end() ? QosStream{id, NameOfStream(id)} : *stream);
  }
  return streams;
}

}  // namespace profd::driver
