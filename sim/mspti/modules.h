// CANN's modules in the process of the job: what they report through libprofapi.so while a collector has
// switched them on. (Of devices whose log MSPTI reads, libmspti.so tells itself, as if it had been told, from
// when it is loaded.)
#pragma once

#include <atomic>
#include <bitset>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <thread>
#include <vector>

#include "sim/hal/config.h"
#include "sim/mspti/abi.h"
#include "sim/scenario/clock.h"
#include "sim/scenario/load.h"

namespace profd::sim::mspti {

// The router's functions, as modules call them.
struct Reports {
  int (*api)(uint32_t aging, const void* record);
  int (*compact)(uint32_t aging, void* record, uint32_t bytes);
  int (*additional)(uint32_t aging, void* record, uint32_t bytes);
  int (*type)(uint16_t level, uint32_t type, const char* name);
  uint64_t (*number_of)(const char* text, size_t bytes);
};

// **Thread:** any. **Owns:** from the first START on a thread `sim-app` for each device, which makes the
// calls of the job, as a program's thread for each device does.
class Modules {
 public:
  Modules(const Config& node, Reports reports);
  Modules(const Modules&) = delete;
  Modules& operator=(const Modules&) = delete;

  // `with_mspti`: libmspti.so is loaded.
  void Obey(const Command& command, bool with_mspti);
  // Devices that the process has set.
  void SetDevice(uint32_t device, bool open);
  // As the static destructors run.
  void Exit();

 private:
  static constexpr size_t kMostDevices = 64;
  struct Device {
    Device(const Config& node, uint32_t number);
    uint32_t number;
    const Chip* chip;
    TrainingLoad load;
    TaskStory story;
    bool has_vector_cores, has_collectives;
    bool known_to_mspti;
    uint32_t thread = 0;   // that launches: the program's first one for the first device
    uint64_t step_ns = 0;  // when it began the step; 0: before it was switched on
  };

  bool IsToldByMspti(const Device& device) const { return with_mspti_ && device.known_to_mspti; }
  void Run(Device& device);
  void Launch(Device& device, const Task& task) const;
  void LaunchKernel(const Device& device, const Task& task, uint64_t begin_ns) const;
  void TellMemory(const Device& device, uint64_t op, uint64_t in_step, uint64_t begin_ns) const;
  void LaunchCopy(const Device& device, const Task& task, uint64_t begin_ns) const;
  void LaunchCollective(const Device& device, const Task& first, uint64_t begin_ns) const;
  void LaunchPart(const Device& device, const Task& task, uint64_t begin_ns) const;
  // `task` as its log has it.
  void Track(const Device& device, const Task& task, uint64_t at_ns, uint64_t task_type,
             uint64_t kernel = 0) const;
  void RegisterTypes() const;
  bool Is(uint64_t any_of) const { return (switches_.load(std::memory_order_relaxed) & any_of) != 0; }
  uint64_t Number(std::string_view text) const { return reports_.number_of(text.data(), text.size()); }
  void Call(const Device& device, uint16_t level, uint32_t type, uint64_t begin_ns, uint64_t end_ns,
            uint64_t item) const;
  template <typename Record>
  Record Headed(const Device& device, uint16_t level, uint32_t type, uint32_t bytes, uint64_t at_ns) const;
  template <typename Record>
  void Tell(Record record) const;

  const Reports reports_;
  const HostCounter counter_;
  std::vector<std::unique_ptr<Device>> devices_;
  // Asked for once, when the modules are loaded: who comes later learns of them by MsprofId2Str only.
  const uint64_t matmul_, matmul_type_, adam_, adam_type_, collective_, collective_type_, group_, algorithm_,
      copy_, notify_wait_, notify_record_, reduce_, ccu_;

  std::atomic<uint64_t> switches_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::bitset<kMostDevices> on_, open_;
  bool over_ = false, with_mspti_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace profd::sim::mspti
