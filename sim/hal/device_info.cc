// What the driver answers about devices.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <iterator>
#include <thread>

#include "sim/hal/driver.h"
#include "sim/scenario/producers/channel_ids.h"

namespace profd::sim {
namespace {

constexpr uint32_t kOscillatorsSince = 0x071905;  // API version
constexpr uint32_t kWorking = 1, kCommunicationLost = 4;
constexpr int64_t kSilicon = 0;  // as the reference sample says it
constexpr int64_t kConnectPcie = 0, kConnectUb = 2;
constexpr uint32_t kFirstBus = 0xc1, kHccsGroup = 4;
constexpr int64_t kAiCpus = 6, kFirstAiCpu = 2, kAiCpuBitmap = 0xFC;

constexpr const char* kQosStreamNames[] = {"stream1", "stream2", "stream3"};
constexpr uint16_t kQosStreamCount = std::size(kQosStreamNames);
static_assert(kQosStreamCount == std::size(kQosPercent));

// As a capture has the arguments of a call.
std::string Asked(int one, int other) {
  const int32_t words[] = {one, other};
  return {reinterpret_cast<const char*>(words), sizeof words};
}

}  // namespace

int Driver::DeviceCount(uint32_t* count) {
  if (count == nullptr) return code::kInvalidValue;
  if (const auto fault = faults_.Hit(Call::kDevNum, 0, 0, count, sizeof *count)) return *fault;
  if (replay_) {
    if (const int answer = replay_->SayOfNode("drvGetDevNum", nullptr, 0); answer != code::kOk) return answer;
  }
  for (const auto& device : devices_) {
    if (const int opened = containers_.Open(device->id); opened != code::kOk) return opened;
  }
  *count = static_cast<uint32_t>(devices_.size());
  return code::kOk;
}

int Driver::DeviceIds(uint32_t* ids, uint32_t count) {
  if (ids == nullptr) return code::kInvalidValue;
  if (const auto fault = faults_.Hit(Call::kDevIds, 0, 0, ids, count * sizeof *ids)) return *fault;
  if (replay_) {
    if (const int answer = replay_->SayOfNode("drvGetDevIDs", nullptr, 0); answer != code::kOk) return answer;
  }
  for (uint32_t i = 0; i < count && i < devices_.size(); ++i) ids[i] = devices_[i]->id;
  return code::kOk;
}

int Driver::ApiVersion(int* version) {
  if (version == nullptr) return code::kInvalidValue;
  if (const auto fault = faults_.Hit(Call::kApiVersion, 0, 0, version, sizeof *version)) return *fault;
  if (replay_) return replay_->SayOfNode("halGetAPIVersion", version, sizeof *version);
  *version = static_cast<int>(api_version_);
  return code::kOk;
}

int Driver::DeviceStatus(uint32_t device, uint32_t* status) {
  if (status == nullptr || Find(device) == nullptr) return code::kInvalidValue;
  if (const auto fault = faults_.Hit(Call::kStatus, device, 0, status, sizeof *status)) return *fault;
  if (replay_) return replay_->Say("drvDeviceStatus", device, "", status, sizeof *status);
  *status = LinkLost(device) ? kCommunicationLost : kWorking;
  return code::kOk;
}

int Driver::PhysicalId(uint32_t device, uint32_t* id) {
  const Device* found = Find(device);
  if (id == nullptr || found == nullptr) return code::kInvalidValue;
  if (const auto fault = faults_.Hit(Call::kPhysicalId, device, 0, id, sizeof *id)) return *fault;
  if (replay_) return replay_->Say("drvDeviceGetPhyIdByIndex", device, "", id, sizeof *id);
  *id = found->config.physical_id;
  return code::kOk;
}

int Driver::SplitMode(uint32_t device, uint32_t* mode) {
  const Device* found = Find(device);
  if (mode == nullptr || found == nullptr) return code::kInvalidValue;
  if (const auto fault = faults_.Hit(Call::kSplitMode, device, 0, mode, sizeof *mode)) return *fault;
  if (replay_) return replay_->Say("drvGetDeviceSplitMode", device, "", mode, sizeof *mode);
  *mode = found->config.split_mode;
  return code::kOk;
}

// Half of a round trip on either side of the moment that the device reads its clock.
void Driver::WaitQueryLatency() const {
  if (config_.query_latency_us == 0) return;
  std::this_thread::sleep_for(std::chrono::microseconds(config_.query_latency_us) / 2);
}

int Driver::SystemInfo(Device& device, int item, int64_t* value) {
  const Chip& chip = *device.config.chip;
  switch (item) {
    case info::kEnv:
      *value = kSilicon;
      return code::kOk;
    case info::kVersion:
      *value = int64_t{format::NumberOf(chip.id)} << 8;
      return code::kOk;
    case info::kConnectType:
      *value = chip.ub_transport ? kConnectUb : kConnectPcie;
      return code::kOk;
    case info::kSysCount:
    case info::kMonotonicRaw: {
      WaitQueryLatency();
      const uint64_t device_ns = device.clock.DeviceNs(RawNs());
      *value = static_cast<int64_t>(item == info::kSysCount ? device.clock.Ticks(device_ns) : device_ns);
      WaitQueryLatency();
      return code::kOk;
    }
    case info::kHostOsc:
    case info::kDeviceOsc: {
      if (api_version_ < kOscillatorsSince) return code::kNotSupported;
      if (static_cast<double>(RawNs() - loaded_ns_) / 1e9 < config_.osc_busy_s) return code::kBusy;
      const int64_t khz = item == info::kDeviceOsc ? chip.counter_khz : host_counter_.Khz();
      if (khz <= 0) return code::kNotSupported;
      *value = khz;
      return code::kOk;
    }
    default:
      return code::kNotSupported;
  }
}

int Driver::DeviceInfo(uint32_t device, int module, int item, int64_t* value) {
  Device* found = Find(device);
  if (value == nullptr || found == nullptr) return code::kInvalidValue;
  if (const auto fault = faults_.Hit(Call::kInfo, device, 0, value, sizeof *value)) return *fault;
  if (replay_) {
    // Of the host, whichever device is asked.
    if (module == module::kSystem && item == info::kHostOsc)
      return replay_->SayOfNode("halGetDeviceInfo", value, sizeof *value);
    const std::string asked = Asked(module, item);
    const auto now = replay_->Now(device, RawNs());
    const bool is_clock =
        now && module == module::kSystem && (item == info::kSysCount || item == info::kMonotonicRaw);
    if (!is_clock) return replay_->Say("halGetDeviceInfo", device, asked, value, sizeof *value);
    const int answer = replay_->CodeOf("halGetDeviceInfo", device, asked);
    if (answer == code::kOk)
      *value = static_cast<int64_t>(item == info::kSysCount ? now->ticks : now->device_ns);
    return answer;
  }
  if (module == module::kSystem) return SystemInfo(*found, item, value);

  const Chip& chip = *found->config.chip;
  struct Fact {
    int module, info;
    int64_t value;
  };
  const Fact facts[] = {{module::kAicpu, info::kCoreNum, kAiCpus},
                        {module::kAicpu, info::kOccupy, kAiCpuBitmap},
                        {module::kAicpu, info::kId, kFirstAiCpu},
                        {module::kCcpu, info::kCoreNum, 1},
                        {module::kCcpu, info::kId, 0},
                        {module::kCcpu, info::kEndian, 1},
                        {module::kAicore, info::kCoreNum, chip.aic_count},
                        {module::kAicore, info::kId, 0},
                        {module::kAicore, info::kFrequency, chip.aic_mhz},
                        {module::kAicore, info::kCurrentFrequency, found->load.AicMhz(RawNs())},
                        {module::kTscpu, info::kCoreNum, 1},
                        {module::kVectorCore, info::kCoreNum, chip.aiv_count},
                        {module::kVectorCore, info::kFrequency, chip.aic_mhz}};
  for (const Fact& fact : facts) {
    if (fact.module != module || fact.info != item) continue;
    if (module == module::kVectorCore && chip.aiv_count == 0) break;
    *value = fact.value;
    return code::kOk;
  }
  if (module == module::kAicore && item == info::kUtilization) {
    constexpr uint64_t kOverNs = 100'000'000;
    const uint64_t now = RawNs();
    *value = static_cast<int64_t>(found->load.Between(Flow::kAicBusy, now - kOverNs, now) * 100 / kOverNs);
    return code::kOk;
  }
  return code::kNotSupported;
}

int Driver::DeviceInfoByBuffer(uint32_t device, int module, int item, void* buffer, int32_t* size) {
  const Device* found = Find(device);
  if (buffer == nullptr || size == nullptr || *size < 0 || found == nullptr) return code::kInvalidValue;
  const auto bytes = static_cast<size_t>(*size);
  if (const auto fault = faults_.Hit(Call::kInfoByBuffer, device, 0, buffer, bytes)) return *fault;
  if (replay_) {
    const std::string asked = Asked(module, item) + std::string(static_cast<const char*>(buffer), bytes);
    return replay_->Say("halGetDeviceInfoByBuff", device, asked, buffer, bytes);
  }
  if (module == module::kPcie && item == info::kPcieIds) {
    if (*size < static_cast<int32_t>(sizeof(PcieIds))) return code::kInvalidValue;
    PcieIds ids{};
    ids.bus = kFirstBus + device;
    std::memcpy(buffer, &ids, sizeof ids);
    return code::kOk;
  }
  const auto& ids = found->config.chip->channels;
  const bool has_qos = std::find(ids.begin(), ids.end(), channel::kQos) != ids.end();
  if (module != module::kQos || item != info::kQosConfig || !has_qos) return code::kNotSupported;
  if (*size < static_cast<int32_t>(sizeof(QosQuery))) return code::kInvalidValue;

  enum Mode : uint16_t { kList, kNameOfId, kIdOfName };
  auto* query = static_cast<QosQuery*>(buffer);
  switch (query->mode) {
    case kList:
      query->stream_count = kQosStreamCount;
      for (uint8_t i = 0; i < kQosStreamCount; ++i) query->mpam_id[i] = i + 1;
      return code::kOk;
    case kNameOfId: {
      const uint32_t id = query->mpam_id[0];
      if (id == 0 || id > kQosStreamCount) return code::kInvalidValue;
      std::snprintf(query->stream_name, sizeof query->stream_name, "%s", kQosStreamNames[id - 1]);
      return code::kOk;
    }
    case kIdOfName:
      for (uint8_t i = 0; i < kQosStreamCount; ++i) {
        if (std::strncmp(query->stream_name, kQosStreamNames[i], sizeof query->stream_name) != 0) continue;
        query->stream_count = 1;
        query->mpam_id[0] = i + 1;
        return code::kOk;
      }
      return code::kInvalidValue;
    default:
      return code::kInvalidValue;
  }
}

// As in servers of the chip: 910B all to all, 910 in fours.
int Driver::PairInfo(uint32_t device, uint32_t other, int item, int64_t* value) {
  const Device* one = Find(device);
  if (value == nullptr || one == nullptr || Find(other) == nullptr || device == other)
    return code::kInvalidValue;
  if (const auto fault = faults_.Hit(Call::kPairInfo, device, 0, value, sizeof *value)) return *fault;
  if (replay_) {
    return replay_->Say("halGetPairDevicesInfo", device, Asked(static_cast<int>(other), item), value,
                        sizeof *value);
  }
  if (item != pair::kTopology) return code::kNotSupported;
  const std::string_view chip = one->config.chip->name;
  if (one->config.chip->ub_transport) {
    *value = pair::kUb;
  } else if (chip == "910B") {
    *value = pair::kHccs;
  } else if (chip == "910") {
    *value = device / kHccsGroup == other / kHccsGroup ? pair::kHccs : pair::kSys;
  } else {
    *value = pair::kPhb;
  }
  return code::kOk;
}

int Driver::GetChipInfo(uint32_t device, ChipInfo* chip) {
  const Device* found = Find(device);
  if (chip == nullptr || found == nullptr) return code::kParaError;
  if (const auto fault = faults_.Hit(Call::kChipInfo, device, 0, chip, sizeof *chip)) return *fault;
  if (replay_) return replay_->Say("halGetChipInfo", device, "", chip, sizeof *chip);
  const auto copy = [](unsigned char(&to)[32], std::string_view text) {
    std::memset(to, 0, sizeof to);
    std::memcpy(to, text.data(), std::min(text.size(), sizeof to - 1));
  };
  copy(chip->type, "Ascend");
  copy(chip->name, found->config.chip->product);
  copy(chip->version, "V1");
  return code::kOk;
}

}  // namespace profd::sim
