// The simulated driver of this process: what the exported functions call.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "sim/abi.h"
#include "sim/hal/capture/replay.h"
#include "sim/hal/channels/channel.h"
#include "sim/hal/channels/faults.h"
#include "sim/hal/channels/generator.h"
#include "sim/hal/channels/poll_queue.h"
#include "sim/hal/channels/truth.h"
#include "sim/hal/config.h"
#include "sim/hal/containers.h"
#include "sim/hal/device_process.h"
#include "sim/scenario/clock.h"

namespace profd::sim {

// **Thread:** any. **Owns:** everything, for the life of the process.
class Driver {
 public:
  // Made by the first call; reads PROFD_SIM_CONFIG then. `default_api_version` is that of the calling
  // library.
  static Driver& Get();

  // The channel calls, with the vendor's return codes.
  int GetChannels(uint32_t device, ChannelList* list);
  int Start(uint32_t device, uint32_t channel, const StartPara* para);
  int Stop(uint32_t device, uint32_t channel);
  int Read(uint32_t device, uint32_t channel, char* out, uint32_t size);
  int Poll(PollInfo* out, int count, int timeout_s);
  int Flush(uint32_t device, uint32_t channel, uint32_t* waiting);

  // Device and platform.
  int DeviceCount(uint32_t* count);
  int DeviceIds(uint32_t* ids, uint32_t count);
  int DeviceStatus(uint32_t device, uint32_t* status);
  int PhysicalId(uint32_t device, uint32_t* id);
  int SplitMode(uint32_t device, uint32_t* mode);
  int DeviceInfo(uint32_t device, int module, int info, int64_t* value);
  int DeviceInfoByBuffer(uint32_t device, int module, int info, void* buffer, int32_t* size);
  int PairInfo(uint32_t device, uint32_t other, int info, int64_t* value);
  int GetChipInfo(uint32_t device, ChipInfo* chip);
  int ApiVersion(int* version);

  // The collector's process on the device, which feeds channel 145 as its arguments say ("sys_profiling:on"
  // …), once the group of its collector's is there.
  int OpenProcess(uint32_t device, std::vector<std::string> arguments, bool has_group, int* process);
  bool ProcessRuns(uint32_t device, int process) const;
  int CloseProcess(uint32_t device, int process);
  void NoteProcessGroup(uint32_t device);  // it has been made
  // What the card library tells of a device's port: running totals, in the order of netdev_stats.data.
  static constexpr size_t kPortTotals = 15;
  int PortTotals(uint32_t device, uint64_t (&totals)[kPortTotals]);
  const HealthConfig& health() const { return config_.health; }
  uint32_t device_count() const { return static_cast<uint32_t>(devices_.size()); }

  bool CanOpenProcess() const { return config_.process_capable; }

  // Of a call that is no member here: whether it ends so, and with what.
  std::optional<int> Fails(Call call, uint32_t device, void* answer = nullptr, size_t bytes = 0) {
    return faults_.Hit(call, device, 0, answer, bytes);
  }

  // Would prof_drv_get_channels list it now?
  bool Offers(uint32_t device, uint32_t channel) const;

 private:
  struct Device {
    Device(const DeviceConfig& device, const Config& config, const HostCounter& counter);

    const uint32_t id;
    const DeviceConfig config;
    const TrainingLoad load;
    const TaskStory tasks;
    const DeviceClock clock;
    const Environment env;
    std::array<Channel, kMaxChannels> channels;
    std::array<bool, kMaxChannels> read_fails{};  // some fault concerns its reads

    mutable std::mutex process_mutex;
    DeviceProcess process;
    std::vector<std::string> process_arguments;

    std::mutex list_mutex;  // one list query at a time, as in the driver
    std::mutex flood_mutex;
    std::vector<uint32_t> flooding;  // channels that share the device's rate
  };

  explicit Driver(const Config& config);

  Device* Find(uint32_t device) const;
  int StartOnDevice(Device& device, uint32_t id, const StartPara& para, std::string payload);
  int ReplayOnDevice(Device& device, uint32_t id);
  void SetFlooding(Device& device, uint32_t id, bool on);  // and share the device's rate anew
  bool LinkLost(uint32_t device);
  int SystemInfo(Device& device, int info, int64_t* value);
  void WaitQueryLatency() const;

  const Config config_;
  const uint64_t loaded_ns_;
  const uint32_t api_version_;
  Faults faults_;
  const Containers containers_;
  const std::unique_ptr<Replay> replay_;  // null: the load is made up
  HostCounter host_counter_;
  Truth truth_;
  PollQueue poll_queue_;
  std::vector<std::unique_ptr<Device>> devices_;
  std::atomic<int> started_{0};
  std::unique_ptr<Generator> generator_;  // after the truth file is open
};

}  // namespace profd::sim
