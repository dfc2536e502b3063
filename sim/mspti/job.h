// The application and its devices, as MSPTI sees them: the same training steps as the simulated driver tells
// of.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "sim/mspti/abi.h"
#include "sim/scenario/load.h"

namespace profd::sim::mspti {

class Library;

// Host raw time to what records say: CLOCK_REALTIME ns, from pairs that are renewed now and then. **Thread:**
// any.
class RecordClock {
 public:
  explicit RecordClock(const Library& library);
  uint64_t RealNs(uint64_t raw_ns);

 private:
  const Library& library_;
  const uint64_t begun_ns_;
  std::mutex mutex_;
  uint64_t paired_at_ns_ = 0;  // raw
  uint64_t real_minus_raw_ = 0;
  uint64_t pairs_ = 0;
};

// One subscription's share of the job. **Thread:** Start and the destructor: any, one at a time.
// **Owns:** two threads: `sim-app` calls and allocates, `sim-channel` reads what the devices tell.
class Job {
 public:
  explicit Job(Library& library);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  void Start();
  bool started() const { return started_; }

 private:
  struct Device {
    Device(const Library& library, uint32_t number);
    uint32_t number;
    TrainingLoad load;
    TaskStory story;
    // By task index, of the latest launches. A launch writes its index (+ 1) last. So many that the device
    // finds its own when it is some seconds behind: one of its threads, or the whole program, may not get its
    // turn.
    struct Launched {
      std::atomic<uint64_t> task{0}, correlation{0};
    };
    std::array<Launched, 1U << 14> launched{};
    std::atomic<uint64_t> first_launch_ns{UINT64_MAX};  // when that task starts
    uint64_t collectives = 0;                           // that have ended
  };
  struct Cursor {  // one thread's place in one device's story
    uint64_t event = 0;
    std::array<uint64_t, kKinds> made{};  // with a rate
    uint64_t begun_ns = 0;                // when the device was first seen in use
  };

  void Run(const char* name, bool host);
  void Advance(Device& device, Cursor& cursor, uint64_t now_ns, bool host);
  void Flood(Device& device, Cursor& cursor, uint64_t now_ns, bool host);
  // Its launch is late.
  static bool IsToCome(const Device& device, const Task& task);
  void Launch(Device& device, const Task& task);
  void TellTensors(const Task& task, uint64_t begin_ns) const;
  void Finish(Device& device, const Task& task);
  void Allocate(Device& device, const Task& task, uint64_t correlation);
  void Mark(Device& device, const Task& task, bool end, bool host);

  void PutApi(uint32_t kind, const char* name, uint64_t begin_ns, uint64_t end_ns, uint64_t correlation);
  void PutKernel(Device& device, uint64_t index, uint32_t stream, bool vector, uint64_t begin_ns,
                 uint64_t end_ns, uint64_t correlation);
  void PutCommunication(Device& device, uint64_t index, uint32_t stream, uint64_t begin_ns, uint64_t end_ns,
                        uint64_t correlation);
  void PutMemory(uint32_t kind, Device& device, uint64_t index, uint64_t begin_ns, uint64_t end_ns,
                 uint64_t correlation);
  void PutMarker(uint32_t flag, bool of_device, uint32_t device, uint64_t id, uint64_t at_ns,
                 const char* name);
  // The name, or something odd where the configuration wants that.
  const char* Text(const char* name, uint64_t index);
  uint64_t DeviceNs(uint64_t raw_ns);

  Library& library_;
  RecordClock clock_;
  std::vector<std::unique_ptr<Device>> devices_;
  uint64_t kernels_ = 0;
  uint64_t told_ = 0;  // kernels, while they are counted
  uint64_t communications_ = 0;
  uint32_t app_thread_ = 0;

  std::mutex mutex_;
  std::condition_variable over_changed_;
  bool over_ = false;
  std::atomic<bool> started_{false};
  std::vector<std::thread> threads_;
};

}  // namespace profd::sim::mspti
