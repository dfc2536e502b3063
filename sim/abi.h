// The numbers and layouts of the vendor's C interface, as the exported functions take and give them (LP64).
#pragma once

#include <cstddef>
#include <cstdint>

namespace profd::sim {

inline constexpr uint32_t kMaxDevices = 64;
inline constexpr uint32_t kMaxChannels = 160;
inline constexpr uint32_t kMaxUserData = 128;
inline constexpr uint32_t kMaxProcessUserData = 8;  // what the event message to a device process carries

// Return codes; the channel calls mix both of the vendor's code spaces.
namespace code {
inline constexpr int kOk = 0;
inline constexpr int kError = -1;
inline constexpr int kStoppedAlready = -4;
inline constexpr int kNoDevice = 1;
inline constexpr int kInvalidValue = 3;
inline constexpr int kInvalidHandle = 4;
inline constexpr int kInner = 7;
inline constexpr int kParaError = 8;
inline constexpr int kRepeatedInit = 10;
inline constexpr int kBusy = 13;
inline constexpr int kWaitTimeout = 16;
inline constexpr int kStatusFail = 30;
inline constexpr int kMallocFail = 40;
inline constexpr int kMemoryOptFail = 58;
inline constexpr int kNoProcess = 62;
inline constexpr int kNoGroup = 65;
inline constexpr int kNoEvent = 73;
inline constexpr int kResourceOccupied = 87;
inline constexpr int kNoComputeProcess = 115;
inline constexpr int kBiuLoss = 0x916;
inline constexpr int kNotSupported = 0xfffe;
}  // namespace code

struct StartPara {
  int32_t channel_type;  // 0 task scheduler, 1 peripheral; ignored, like real_time
  uint32_t sample_period_ms;
  uint32_t real_time;
  const void* user_data;
  uint32_t user_data_size;
};
static_assert(sizeof(StartPara) == 32 && offsetof(StartPara, user_data) == 16 &&
              offsetof(StartPara, user_data_size) == 24);

struct PollInfo {
  uint32_t device_id;
  uint32_t channel_id;
};
static_assert(sizeof(PollInfo) == 8);

struct ChannelInfo {
  char name[32];
  uint32_t type;
  uint32_t id;
};
struct ChannelList {
  uint32_t chip_type;
  uint32_t channel_num;
  ChannelInfo channel[kMaxChannels];
};
static_assert(sizeof(ChannelList) == 6408);

struct ChipInfo {
  unsigned char type[32];
  unsigned char name[32];
  unsigned char version[32];
};
static_assert(sizeof(ChipInfo) == 96);

inline constexpr uint32_t kQosStreams = 20;
struct QosQuery {
  uint32_t device;
  uint16_t stream_count;
  uint16_t mode;  // 0 list the ids, 1 name of mpam_id[0], 2 ids of stream_name
  uint8_t mpam_id[kQosStreams];
  char stream_name[256];
};
static_assert(sizeof(QosQuery) == 284);

// HAL_PCIE_INFO.
struct PcieIds {
  uint32_t domain, bus, device, function;
  uint32_t reserved[20];
};
static_assert(sizeof(PcieIds) == 96);

// What halGetPairDevicesInfo answers to kTopology.
namespace pair {
inline constexpr int kTopology = 0;
inline constexpr int64_t kHccs = 0, kPhb = 3, kSys = 4, kUb = 7;
}  // namespace pair

// halGetDeviceInfo's module and info numbers that the simulator answers.
namespace module {
inline constexpr int kSystem = 0, kAicpu = 1, kCcpu = 2, kAicore = 4, kTscpu = 5, kPcie = 6, kVectorCore = 7;
inline constexpr int kQos = 9;
}  // namespace module
namespace info {
inline constexpr int kEnv = 0, kVersion = 1, kCoreNum = 3, kFrequency = 4, kOccupy = 8, kId = 9, kEndian = 11;
inline constexpr int kSysCount = 13, kMonotonicRaw = 14, kUtilization = 23, kHostOsc = 24, kDeviceOsc = 25;
inline constexpr int kCurrentFrequency = 32, kQosConfig = 33, kConnectType = 40, kPcieIds = 66;
}  // namespace info

}  // namespace profd::sim
