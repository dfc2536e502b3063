// The memory streams whose bandwidth a chip's monitors follow (channel 133, on a 950 channel 52, too).
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/driver/driver.h"

namespace profd::driver {

// As many as a driver names, and the slots of a start (QOS_STREAM_MAX_NUM of the vendor's collector,
// driver/inc/ai_drv_prof_api.h); of them the monitors follow eight at once (its GetQosMonitorNumber()).
inline constexpr size_t kQosSlots = 20, kMaxQosStreams = 8;

// Modes of `qos`: the first that the driver names, or these in this order, "streams:NAME,NAME" (or with '+').
inline constexpr std::string_view kFirstStreams = "first", kStreamsMode = "streams:";
base::Result<std::vector<QosStream>> StreamsOf(std::string_view mode, const DeviceFacts& device);
// What a stream without a name is called.
std::string NameOfStream(uint8_t mpam_id);
// What a start of one of the two channels that can follow them does, in the order of the bandwidths in its
// records.
std::vector<QosStream> StreamsOfStart(uint32_t channel, const StartPara& para, const DeviceFacts& device);

}  // namespace profd::driver
