#include "sim/mspti/job.h"

#include <pthread.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <ctime>
#include <string>
#include <string_view>

#include "sim/mspti/library.h"
#include "sim/mspti/profapi_client.h"
#include "sim/scenario/clock.h"

namespace profd::sim::mspti {
namespace {

constexpr auto kTick = std::chrono::milliseconds(5);
constexpr uint64_t kCallNs = 12'000;  // from the call to its end
constexpr uint64_t kLaunchAheadNs = 20'000;
constexpr uint32_t kFp16 = 3;
constexpr char kGroup[] = "group_world", kOperator[] = "aclnnMatmul_MatMulCommon_MatMul";
constexpr uint64_t kAddress = 0x120040000000, kBlock = 2U << 20;

uint64_t WallNs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

bool IsHostKind(uint32_t kind) { return kind != kKernel && kind != kHccl && kind != kCommunication; }

// The vendor's number of a text (hash_data.cpp of the collector, hicann/runtime).
uint64_t TextNumber(std::string_view text) {
  uint32_t high = 0, low = 0;
  for (const char c : text) {
    high = high * 29 + static_cast<unsigned char>(c);
    low = low * 131 + static_cast<unsigned char>(c);
  }
  return uint64_t{high} << 32 | low;
}

// As the vendor's library names what it runs: "hcom_allReduce__662_4_1" is number 4 of its kind in its group,
// which is told by the last digits of its number.
std::string CollectiveName(const std::string& type, const std::string& group, uint64_t number) {
  constexpr uint64_t kMostTexts = 1 << 16;  // they live as long as the library
  const std::string hash = std::to_string(TextNumber(group));
  return "hcom_" + type + "__" + hash.substr(hash.size() - 3) + "_" + std::to_string(number % kMostTexts) +
         "_1";
}

// The record as it lies in a buffer, with garbage where the structure has none.
template <typename Record>
void Put(Buffers& buffers, const Record& record) {
  char bytes[96];
  std::memset(bytes, 0xEE, sizeof bytes);
  std::memcpy(bytes, &record, sizeof record);
  buffers.Append({bytes, buffers.SizeOf(record.kind)});
}

}  // namespace

RecordClock::RecordClock(const Library& library) : library_(library), begun_ns_(RawNs()) {}

uint64_t RecordClock::RealNs(uint64_t raw_ns) {
  const MsptiConfig& config = library_.config();
  const std::lock_guard lock(mutex_);
  const uint64_t now = RawNs();
  if (pairs_ == 0 || static_cast<double>(now - paired_at_ns_) > config.resync_s * 1e9) {
    paired_at_ns_ = now;
    real_minus_raw_ = WallNs() - now;
    if (pairs_++ % 2 == 1) real_minus_raw_ += static_cast<uint64_t>(config.clock_step_us * 1000);
    const double elapsed_s = static_cast<double>(now - begun_ns_) / 1e9;
    if (config.jump_s != 0 && elapsed_s >= config.jump_at_s) {
      real_minus_raw_ += static_cast<uint64_t>(static_cast<int64_t>(config.jump_s * 1e9));
    }
  }
  return raw_ns + real_minus_raw_;
}

Job::Device::Device(const Library& library, uint32_t device)
    : number(device),
      load(library.node().scenario, library.node().seed, device, *library.node().devices[device].chip),
      story(load) {}

Job::Job(Library& library) : library_(library), clock_(library) {
  for (uint32_t device = 0; device < library.node().devices.size(); ++device) {
    devices_.push_back(std::make_unique<Device>(library, device));
  }
}

void Job::Start() {
  threads_.emplace_back([this] { Run("sim-app", true); });
  threads_.emplace_back([this] { Run("sim-channel", false); });
  started_ = true;
}

Job::~Job() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  over_changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void Job::Run(const char* name, bool host) {
  pthread_setname_np(pthread_self(), name);
  // The calls are the program's: told as of its first thread, as a training loop makes them.
  if (host) app_thread_ = static_cast<uint32_t>(::getpid());
  std::vector<Cursor> cursors(devices_.size());
  std::unique_lock lock(mutex_);
  while (!over_changed_.wait_for(lock, kTick, [this] { return over_; })) {
    lock.unlock();
    const uint64_t now = RawNs();
    for (const uint32_t number : host ? library_.OpenDevices() : library_.ReadDevices()) {
      Cursor& cursor = cursors[number];
      Device& device = *devices_[number];
      if (cursor.begun_ns == 0) {
        cursor.event = device.story.FirstAfter(now);
        cursor.begun_ns = now;
      }
      Advance(device, cursor, now, host);
      Flood(device, cursor, now, host);
    }
    lock.lock();
  }
}

void Job::Advance(Device& device, Cursor& cursor, uint64_t now_ns, bool host) {
  for (;; ++cursor.event) {
    const TaskStory::Event event = device.story.EventAt(cursor.event);
    // A device runs nothing before it is launched, however late the host is.
    if (event.at_ns > now_ns || (!host && event.end && IsToCome(device, event.task))) return;
    Mark(device, event.task, event.end, host);
    if (host && !event.end) Launch(device, event.task);
    if (!host && event.end) Finish(device, event.task);
  }
}

// Kinds with a rate come evenly, beside the job's own.
void Job::Flood(Device& device, Cursor& cursor, uint64_t now_ns, bool host) {
  for (uint32_t kind = 1; kind < kKinds; ++kind) {
    const uint64_t rate = library_.config().rate[kind];
    if (rate == 0 || IsHostKind(kind) != host) continue;
    const auto due = static_cast<uint64_t>(static_cast<double>(now_ns - cursor.begun_ns) * 1e-9 *
                                           static_cast<double>(rate));
    for (uint64_t& made = cursor.made[kind]; made < due; ++made) {
      if (!library_.Takes(kind, !host)) {
        made = due;
        break;
      }
      const uint64_t begin = cursor.begun_ns + made * 1'000'000'000 / rate;
      const uint64_t end = begin + made % 4 * 250;  // some take no time at all
      switch (kind) {
        case kMarker:
          PutMarker(kInstant, false, device.number, library_.NextMarkerId(), begin, "flood");
          break;
        case kKernel:
          PutKernel(device, made, 2, made % 8 == 0, begin, end, 0);
          break;
        case kCommunication:
          PutCommunication(device, made, 5, begin, end, 0);
          break;
        case kMemory:
        case kMemset:
        case kMemcpy:
          PutMemory(kind, device, made, begin, end, 0);
          break;
        case kApi:
        case kAclApi:
        case kNodeApi:
        case kRuntimeApi:
          PutApi(kind, "flood", begin, end, 0);
          break;
        default:
          break;
      }
    }
  }
}

bool Job::IsToCome(const Device& device, const Task& task) {
  // Tasks of several streams overlap: one that ran before the first launch may have a later number.
  return task.start_ns >= device.first_launch_ns &&
         device.launched[task.index % device.launched.size()].task < task.index + 1;
}

void Job::Launch(Device& device, const Task& task) {
  const uint64_t correlation = library_.NewCorrelation();
  Device::Launched& launched = device.launched[task.index % device.launched.size()];
  launched.correlation = correlation;
  launched.task = task.index + 1;
  if (device.first_launch_ns == UINT64_MAX) device.first_launch_ns = task.start_ns;
  const bool is_collective = task.kind == Task::Kind::kCommunication;
  library_.Call(is_collective ? kHcclDomain : kRuntimeDomain, is_collective ? kAllReduce : kLaunchKernel,
                is_collective ? "HcclAllReduce" : "aclrtLaunchKernel");
  const uint64_t begin = task.start_ns - kLaunchAheadNs;
  PutApi(kAclApi, is_collective ? "HcclAllReduce" : "aclnnMatmul", begin, begin + kCallNs, correlation);
  // Both kinds tell of the same calls.
  const char* op = is_collective ? "launch" : kOperator;
  PutApi(kApi, op, begin + 2000, begin + kCallNs - 2000, correlation);
  PutApi(kNodeApi, op, begin + 2000, begin + kCallNs - 2000, correlation);
  if (!is_collective && TheProfapi().TellsTensors()) TellTensors(task, begin + 2000);
  PutApi(kRuntimeApi, "KernelLaunch", begin + 4000, begin + kCallNs - 4000, correlation);
  Allocate(device, task, correlation);
}

// Two inputs and an output; the first dimension is the task's place in its step.
void Job::TellTensors(const Task& task, uint64_t begin_ns) const {
  constexpr uint16_t kMagic = 0x5A5A, kNodeLevel = 10000;
  constexpr uint32_t kTensorInfo = 1, kGeFp16 = 1, kNd = 2;
  static const HostCounter counter;
  TensorReport report{.magic = kMagic,
                      .level = kNodeLevel,
                      .type = kTensorInfo,
                      .thread = app_thread_,
                      .bytes = sizeof(TensorReport) - offsetof(TensorReport, op_name),
                      .stamp = counter.ValueAt(begin_ns),
                      .op_name = TextNumber(kOperator),
                      .count = 3,
                      .tensor = {}};
  const uint32_t rows = 1 + static_cast<uint32_t>(task.index % TaskStory::kTasksPerStep);
  report.tensor[0] = {0, kNd, kGeFp16, {rows, 1024}};
  report.tensor[1] = {0, kNd, kGeFp16, {1024, 4096}};
  report.tensor[2] = {1, kNd, kGeFp16, {rows, 4096}};
  TheProfapi().Report(report);
}

// Activations come in the forward pass and go in the backward pass.
void Job::Allocate(Device& device, const Task& task, uint64_t correlation) {
  const uint64_t in_step = task.index % TaskStory::kTasksPerStep;
  const uint64_t begin = task.start_ns - kLaunchAheadNs / 2;
  constexpr uint64_t kForward = 16, kBackward = 40, kOptimizer = 44;
  if (in_step == 0) PutMemory(kMemcpy, device, task.index, begin, begin + kCallNs, correlation);
  if (in_step < kForward || (in_step >= kBackward - kForward && in_step < kBackward)) {
    PutMemory(kMemory, device, in_step, begin, begin + kCallNs / 4, correlation);
  }
  if (in_step >= kOptimizer) PutMemory(kMemset, device, task.index, begin, begin + kCallNs / 4, correlation);
}

void Job::Finish(Device& device, const Task& task) {
  const Device::Launched& launched = device.launched[task.index % device.launched.size()];
  const uint64_t correlation = launched.task == task.index + 1 ? launched.correlation.load() : 0;
  const uint64_t in_step = task.index % TaskStory::kTasksPerStep;
  if (task.kind == Task::Kind::kCommunication) {
    PutCommunication(device, in_step, task.stream, task.start_ns, task.end_ns, correlation);
  } else {
    PutKernel(device, in_step, task.stream, task.kind == Task::Kind::kAiv, task.start_ns, task.end_ns,
              correlation);
  }
}

// A range around each step: host and device, start and end, the end first now and then, the device's not
// always.
void Job::Mark(Device& device, const Task& task, bool end, bool host) {
  const uint64_t in_step = task.index % TaskStory::kTasksPerStep;
  if (end ? in_step != TaskStory::kTasksPerStep - 1 : in_step != 0) return;
  const uint64_t step = task.index / TaskStory::kTasksPerStep;
  const uint64_t id = (uint64_t{device.number} + 1) << 48 | step;
  const uint32_t shift = host ? 0U : uint32_t{kDeviceShift};
  if (!host && library_.config().missing_every != 0 && step % library_.config().missing_every == 0) return;
  if (step % 4 == 3 && !end) return;  // told with its end
  const uint64_t begin_ns = device.load.StepStart(step);
  const uint64_t end_ns = task.end_ns;
  if (end) PutMarker(kEnd << shift, !host, device.number, id, end_ns, "");
  if (!end || step % 4 == 3)
    PutMarker(kStart << shift, !host, device.number, id, begin_ns, host ? "step" : "");
}

uint64_t Job::DeviceNs(uint64_t raw_ns) {
  return clock_.RealNs(raw_ns) + static_cast<uint64_t>(library_.config().device_offset_ns);
}

const char* Job::Text(const char* name, uint64_t index) {
  if (!library_.config().odd_texts) return library_.texts().Keep(name);
  switch (index % 5) {
    case 0:
      return nullptr;
    case 1:
      return library_.texts().Keep("");
    case 2:
      return library_.texts().Keep(name + std::string(4096, 'x'));
    case 3:
      return library_.texts().Keep(name + std::string("\xff\xc3(\xed\xa0\x80"));
    default:
      return library_.texts().Keep(name);
  }
}

void Job::PutApi(uint32_t kind, const char* name, uint64_t begin_ns, uint64_t end_ns, uint64_t correlation) {
  if (!library_.Takes(kind, false)) return;
  Put(library_.buffers(), ApiRecord{.kind = kind,
                                    .start = clock_.RealNs(begin_ns),
                                    .end = clock_.RealNs(end_ns),
                                    .process = static_cast<uint32_t>(::getpid()),
                                    .thread = app_thread_,
                                    .correlation = correlation,
                                    .name = Text(name, correlation),
                                    .padding = 0xEEEEEEEE});
}

void Job::PutKernel(Device& device, uint64_t index, uint32_t stream, bool vector, uint64_t begin_ns,
                    uint64_t end_ns, uint64_t correlation) {
  if (!library_.Takes(kKernel, true)) return;
  if (const uint32_t most = library_.config().silent_after; most != 0 && told_++ >= most) return;
  const std::string name = (vector ? "Adam_" : "MatMul_") + std::to_string(index % 64);
  Put(library_.buffers(), KernelRecord{.kind = kKernel,
                                       .start = DeviceNs(begin_ns),
                                       .end = DeviceNs(begin_ns) + (end_ns - begin_ns),
                                       .device = device.number,
                                       .stream = stream,
                                       .correlation = correlation,
                                       .type = Text(vector ? "KERNEL_AIVEC" : "KERNEL_AICORE", index + 1),
                                       .name = Text(name.c_str(), index),
                                       .padding = 0xEEEEEEEE});
  const uint32_t unknown_every = library_.config().unknown_every;
  if (unknown_every != 0 && ++kernels_ % unknown_every == 0) {
    ApiRecord unknown{};
    unknown.kind = kUnknownKind;
    Put(library_.buffers(), unknown);
  }
}

void Job::PutCommunication(Device& device, uint64_t index, uint32_t stream, uint64_t begin_ns,
                           uint64_t end_ns, uint64_t correlation) {
  if (library_.Takes(kHccl, true)) {
    Put(library_.buffers(), HcclRecord{.kind = kHccl,
                                       .start = DeviceNs(begin_ns),
                                       .end = DeviceNs(begin_ns) + (end_ns - begin_ns),
                                       .device = device.number,
                                       .stream = stream,
                                       .bandwidth = 110,
                                       .name = Text("HcclAllReduce", index),
                                       .comm = Text(kGroup, index + 1),
                                       .padding = 0xEEEEEEEE});
  }
  if (!library_.Takes(kCommunication, true)) return;
  const uint32_t missing_every = library_.config().missing_every;
  if (missing_every != 0 && ++communications_ % missing_every == 0) return;
  const bool odd = library_.config().odd_texts;
  const std::string name = CollectiveName("allReduce", kGroup, device.collectives++);
  Put(library_.buffers(), CommunicationRecord{.kind = kCommunication,
                                              .data_type = odd && index % 3 == 0 ? 65535 : kFp16,
                                              .count = odd && index % 2 == 0 ? 0 : uint64_t{1} << 20,
                                              .device = device.number,
                                              .stream = stream,
                                              .start = DeviceNs(begin_ns),
                                              .end = DeviceNs(begin_ns) + (end_ns - begin_ns),
                                              .alg = Text("Ring", index + 2),
                                              .name = Text(name.c_str(), index),
                                              .comm = Text(kGroup, index + 1),
                                              .correlation = correlation});
}

void Job::PutMemory(uint32_t kind, Device& device, uint64_t index, uint64_t begin_ns, uint64_t end_ns,
                    uint64_t correlation) {
  if (!library_.Takes(kind, false)) return;
  const uint64_t begin = clock_.RealNs(begin_ns);
  const uint64_t end = begin + (end_ns - begin_ns);
  constexpr uint32_t kForward = 16, kHostToDevice = 2;
  if (kind == kMemory) {
    const bool release = index >= kForward;
    Put(library_.buffers(), MemoryRecord{.kind = kind,
                                         .op = release ? 1U : 0U,
                                         .memory_kind = 1,
                                         .correlation = correlation,
                                         .start = begin,
                                         .end = end,
                                         .address = kAddress + index % kForward * kBlock,
                                         .bytes = kBlock,
                                         .process = static_cast<uint32_t>(::getpid()),
                                         .device = device.number,
                                         .stream = kNoStream});
  } else if (kind == kMemset) {
    Put(library_.buffers(), MemsetRecord{.kind = kind,
                                         .value = 0,
                                         .bytes = kBlock,
                                         .start = begin,
                                         .end = end,
                                         .device = device.number,
                                         .stream = 3,
                                         .correlation = correlation,
                                         .is_async = 1,
                                         .padding = {}});
  } else {
    Put(library_.buffers(), MemcpyRecord{.kind = kind,
                                         .copy_kind = kHostToDevice,
                                         .bytes = 8 * kBlock,
                                         .start = begin,
                                         .end = end,
                                         .device = device.number,
                                         .stream = 4,
                                         .correlation = correlation,
                                         .is_async = 1,
                                         .padding = {}});
  }
}

void Job::PutMarker(uint32_t flag, bool of_device, uint32_t device, uint64_t id, uint64_t at_ns,
                    const char* name) {
  if (!library_.Takes(kMarker, of_device) || !library_.MarkerDomainIsOn("default")) return;
  Put(library_.buffers(), MarkerRecord{.kind = kMarker,
                                       .flag = flag,
                                       .source_kind = of_device ? 1U : 0U,
                                       .timestamp = of_device ? DeviceNs(at_ns) : clock_.RealNs(at_ns),
                                       .id = id,
                                       .first_id = of_device ? device : static_cast<uint32_t>(::getpid()),
                                       .second_id = of_device ? 2 : app_thread_,
                                       .name = library_.texts().Keep(name),
                                       .domain = library_.texts().Keep(*name == '\0' ? "" : "default"),
                                       .padding = 0xEEEEEEEE});
}

}  // namespace profd::sim::mspti
