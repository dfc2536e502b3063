// Levels, types, switches and layouts: hicann/runtime, pkg_inc/profiling/aprof_pub.h; the runtime's types and
// their names: src/runtime/core/inc/common/profiler_struct.hpp, inc/task/task_base.hpp and
// src/common/profiling_agent.cc there. Modules name their types when they are switched on
// (profiling_agent.cc, Init; src/acl/aclrt_impl/toolchain/profiling_manager.cpp). What switches operators and
// their attributes: hicann/opbase, ProfilingCallBack; what the communication library reports, and when:
// hicann/hcomm, profiling_handler.cc. Memory: cann/ge,
// runtime/v2/subscriber/profiler/cann_memory_profiler.cc.
#include "sim/mspti/modules.h"

#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>

#include "format/records/cann.h"
#include "sim/mspti/config.h"

namespace profd::sim::mspti {
namespace {

using format::CannLevel;

constexpr auto kTick = std::chrono::milliseconds(5);
constexpr uint64_t kCallNs = 12'000, kLaunchAheadNs = 20'000, kPartNs = 3'000;
constexpr uint32_t kSwitchOn = 1, kSwitchOff = 2;
constexpr uint32_t kAges = 1;  // the operators' shapes are not fixed

enum Switch : uint64_t {
  kAclCalls = 0x1,
  kTaskTimeL1Switch = 0x2,
  kHcclTrace = 0x20,
  kRuntimeApiSwitch = 0x100,
  kTaskTime = 0x800,
  kTaskMemory = 0x1000,
  kTaskTimeL2Switch = 0x2000,
  kOperatorAttributes = 0x4000,
  kRuntimeTrace = 0x4000000
};
enum Type : uint32_t {
  kNodeBasicInfo = 0,
  kModelExecute = 1,
  kTensorInfoType = 1,
  kLaunchType = 5,
  kTaskMemoryInfo = 6,
  kNodeAttrInfo = 9,
  kHcclOpInfo = 10,
  kAclnn = 0x050001,
  kAclHccl = 0x070001,
  kHcclMaster = 0x010001,
  kHcclInfo = 0x010003,
  kMemcpyInfo = 801,
  kTaskTrack = 802,
  kKernelLaunch = 1003,
  kMemcpyCall = 1103,
  kAclMemcpy = 0x030001
};
enum TaskType : uint32_t {
  kAiCore = 0,
  kAiCpu = 1,
  kMemcpyAsync = 5,
  kNotifyWait = 14,
  kNotifyRecord = 15,
  kCcuLaunch = 30,
  kAiVec = 66,
  kReduceAsync = 92
};
enum GeTaskType : uint32_t { kGeAiCore = 0, kGeAiCpu = 1, kGeAiv = 2, kGeHccl = 9 };

constexpr char kMatmul[] = "aclnnMatmul_MatMulCommon_MatMul", kMatmulType[] = "MatMul";
constexpr char kAdam[] = "aclnnApplyAdam_ApplyAdam_ApplyAdam", kAdamType[] = "ApplyAdam";
constexpr char kCollective[] = "hcom_allReduce_", kGroup[] = "group_world", kAlgorithm[] = "Ring",
               kCopy[] = "Memcpy", kWait[] = "Notify_Wait", kRecord[] = "Notify_Record",
               kReduce[] = "Reduce_Inline", kCcu[] = "Ccu";

uint16_t LevelOf(CannLevel level) { return static_cast<uint16_t>(level); }

}  // namespace

Modules::Device::Device(const Config& node, uint32_t device)
    : number(device),
      chip(node.devices[device].chip),
      load(node.scenario, node.seed, device, *node.devices[device].chip),
      story(load),
      has_vector_cores(node.devices[device].chip->id != format::Chip::k310),
      has_collectives(has_vector_cores),
      known_to_mspti(kKnownToMspti.Has(node.devices[device].chip->id)) {}

Modules::Modules(const Config& node, Reports reports)
    : reports_(reports),
      matmul_(Number(kMatmul)),
      matmul_type_(Number(kMatmulType)),
      adam_(Number(kAdam)),
      adam_type_(Number(kAdamType)),
      collective_(Number(kCollective)),
      collective_type_(Number(kCollective)),
      group_(Number(kGroup)),
      algorithm_(Number(kAlgorithm)),
      copy_(Number(kCopy)),
      notify_wait_(Number(kWait)),
      notify_record_(Number(kRecord)),
      reduce_(Number(kReduce)),
      ccu_(Number(kCcu)) {
  for (uint32_t device = 0; device < node.devices.size() && device < kMostDevices; ++device)
    devices_.push_back(std::make_unique<Device>(node, device));
}

void Modules::SetDevice(uint32_t device, bool open) {
  const std::lock_guard lock(mutex_);
  if (device < kMostDevices) open_[device] = open;
}

void Modules::Obey(const Command& command, bool with_mspti) {
  if (devices_.empty() || (command.type != kSwitchOn && command.type != kSwitchOff)) return;
  const std::span<const uint32_t> named(command.devices, std::min<size_t>(command.device_count, 64));
  {
    const std::lock_guard lock(mutex_);
    with_mspti_ = with_mspti;
    for (const uint32_t device : named) {
      if (device < kMostDevices) on_[device] = command.type == kSwitchOn;
    }
    if (command.type == kSwitchOn) {
      switches_ |= command.switches;
    } else {
      switches_ &= ~command.switches;
    }
    if (command.type == kSwitchOn && threads_.empty() && !over_) {
      for (const auto& device : devices_) {
        if (!IsToldByMspti(*device)) threads_.emplace_back([this, of = device.get()] { Run(*of); });
      }
    }
  }
  if (command.type == kSwitchOn) RegisterTypes();
}

void Modules::Exit() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    threads = std::move(threads_);
  }
  changed_.notify_all();
  for (std::thread& thread : threads) thread.join();
}

void Modules::RegisterTypes() const {
  const auto name = [this](CannLevel level, uint32_t type, const char* text) {
    reports_.type(LevelOf(level), type, text);
  };
  name(CannLevel::kRuntime, kAiCore, "KERNEL_AICORE");
  name(CannLevel::kRuntime, kAiCpu, "KERNEL_AICPU");
  name(CannLevel::kRuntime, kMemcpyAsync, "MEMCPY_ASYNC");
  name(CannLevel::kRuntime, kNotifyWait, "NOTIFY_WAIT");
  name(CannLevel::kRuntime, kNotifyRecord, "NOTIFY_RECORD");
  name(CannLevel::kRuntime, kCcuLaunch, "CCU_LAUNCH");
  name(CannLevel::kRuntime, kAiVec, "KERNEL_AIVEC");
  name(CannLevel::kRuntime, kReduceAsync, "REDUCE_ASYNC_V2");
  name(CannLevel::kRuntime, kTaskTrack, "task_track");
  name(CannLevel::kRuntime, kKernelLaunch, "KernelLaunch");
  name(CannLevel::kRuntime, kMemcpyInfo, "memcpy_info");
  name(CannLevel::kRuntime, kMemcpyCall, "MemcpyAsync");
  name(CannLevel::kAcl, kAclMemcpy, "aclrtMemcpyAsync");
  name(CannLevel::kCommunication, kHcclMaster, "master");
  name(CannLevel::kCommunication, kHcclInfo, "hccl_info");
  name(CannLevel::kNode, kNodeBasicInfo, "node_basic_info");
  name(CannLevel::kNode, kTensorInfoType, "tensor_info");
  name(CannLevel::kNode, kLaunchType, "launch");
  name(CannLevel::kNode, kTaskMemoryInfo, "task_memory_info");
  name(CannLevel::kNode, kNodeAttrInfo, "node_attr_info");
  name(CannLevel::kNode, kHcclOpInfo, "hccl_op_info");
  name(CannLevel::kModel, kModelExecute, "ModelExecute");
  name(CannLevel::kAcl, kAclnn, "aclnnMatmul");
  name(CannLevel::kAcl, kAclnn + 1, "aclnnApplyAdam");
  name(CannLevel::kAcl, kAclHccl, "HcclAllReduce");
}

void Modules::Run(Device& device) {
  pthread_setname_np(pthread_self(), "sim-app");
  device.thread = static_cast<uint32_t>(&device == devices_.front().get() ? ::getpid() : ::gettid());
  uint64_t next = 0;
  bool begun = false;
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, kTick, [this] { return over_; })) {
    const bool used = on_[device.number] && open_[device.number] && !IsToldByMspti(device);
    lock.unlock();
    const uint64_t now = RawNs();
    if (used && !begun) next = device.story.FirstAfter(now), device.step_ns = 0;
    begun = used;
    for (; used; ++next) {
      const TaskStory::Event event = device.story.EventAt(next);
      if (event.at_ns > now) break;
      if (!event.end) Launch(device, event.task);
    }
    lock.lock();
  }
}

// A step is the run of a model whose operators the host launches one by one, as of one with dynamic shapes:
// of the one that the device's key points are of.
void Modules::Launch(Device& device, const Task& task) const {
  constexpr uint64_t kModel = 1;
  const uint64_t begin_ns = task.start_ns - kLaunchAheadNs;
  const uint64_t in_step = task.index % TaskStory::kTasksPerStep;
  if (in_step == 0) device.step_ns = begin_ns - 1000;
  if (task.kind == Task::Kind::kCommunication && device.has_collectives) {
    if (TaskStory::PartOf(task) == 0) LaunchCollective(device, task, begin_ns);
  } else if (task.kind == Task::Kind::kCommunication) {
    LaunchCopy(device, task, begin_ns);
  } else {
    LaunchKernel(device, task, begin_ns);
  }
  if (in_step != TaskStory::kTasksPerStep - 1 || device.step_ns == 0 || !Is(kTaskTime)) return;
  Call(device, LevelOf(CannLevel::kModel), kModelExecute, device.step_ns, begin_ns + kCallNs + 1000, kModel);
}

void Modules::Call(const Device& device, uint16_t level, uint32_t type, uint64_t begin_ns, uint64_t end_ns,
                   uint64_t item) const {
  const format::CannApiRecord call{
      format::kCannMagic,       level, type, device.thread, 0, counter_.ValueAt(begin_ns),
      counter_.ValueAt(end_ns), item};
  reports_.api(kAges, &call);
}

template <typename Record>
Record Modules::Headed(const Device& device, uint16_t level, uint32_t type, uint32_t bytes,
                       uint64_t at_ns) const {
  Record record{};
  record.head = {format::kCannMagic, level, type, device.thread, bytes, counter_.ValueAt(at_ns)};
  return record;
}

template <typename Record>
void Modules::Tell(Record record) const {
  constexpr size_t kAdditionalBytes = 256;
  if constexpr (sizeof(Record) == kAdditionalBytes) {
    reports_.additional(kAges, &record, sizeof record);
  } else {
    reports_.compact(kAges, &record, sizeof record);
  }
}

// What ends first is reported first.
void Modules::LaunchKernel(const Device& device, const Task& task, uint64_t begin_ns) const {
  const bool vector = task.kind == Task::Kind::kAiv;
  const uint64_t end_ns = begin_ns + kCallNs, at_ns = begin_ns + kCallNs / 2;
  const uint64_t in_step = task.index % TaskStory::kTasksPerStep;
  const uint64_t op = vector ? adam_ : matmul_;
  const uint16_t runtime = LevelOf(CannLevel::kRuntime), node = LevelOf(CannLevel::kNode);
  Track(device, task, at_ns,
        !vector                   ? kAiCore
        : device.has_vector_cores ? kAiVec
                                  : kAiCpu,
        Number((vector ? "Adam_" : "MatMul_") + std::to_string(in_step)));
  if (Is(kRuntimeApiSwitch)) Call(device, runtime, kKernelLaunch, begin_ns + 4000, end_ns - 4000, 0);
  if (Is(kTaskTimeL1Switch)) {
    auto info = Headed<format::CannNodeInfo>(device, node, kNodeBasicInfo, 28, at_ns);
    info.op_name = op;
    info.flags = !vector && in_step % 2 == 0 ? 1 : 0;  // HF32
    info.task_type = !vector ? kGeAiCore : device.has_vector_cores ? kGeAiv : kGeAiCpu;
    info.op_type = vector ? adam_type_ : matmul_type_;
    info.blocks = task.blocks;
    Tell(info);
  }
  if (Is(kTaskTimeL1Switch)) {
    constexpr uint32_t kFp16 = 1, kNd = 2;
    const uint32_t rows = 1 + static_cast<uint32_t>(in_step);
    auto tensors = Headed<format::CannTensorInfo>(device, node, kTensorInfoType, 232, at_ns);
    tensors.op_name = op;
    tensors.count = 3;
    tensors.tensor[0] = {0, kNd, kFp16, {rows, 1024}};
    tensors.tensor[1] = {0, kNd, kFp16, {1024, 4096}};
    tensors.tensor[2] = {1, kNd, kFp16, {rows, 4096}};
    Tell(tensors);
  }
  if (Is(kTaskTimeL2Switch | kOperatorAttributes)) {
    auto attributes = Headed<format::CannNodeAttributes>(device, node, kNodeAttrInfo, 20, at_ns);
    attributes.op_name = op;
    attributes.attributes = Number("attr_0:" + std::to_string(in_step) + "|attr_1:false");
    Tell(attributes);
  }
  if (Is(kTaskMemory)) TellMemory(device, op, in_step, begin_ns);
  if (Is(kAclCalls | kTaskTime)) Call(device, node, kLaunchType, begin_ns + 2000, end_ns - 2000, op);
  if (Is(kAclCalls))
    Call(device, LevelOf(CannLevel::kAcl), vector ? kAclnn + 1 : kAclnn, begin_ns, end_ns, 0);
}

// An operator takes its workspace when it begins and gives it back when it is launched. It reports both then,
// with the times at which they were.
void Modules::TellMemory(const Device& device, uint64_t op, uint64_t in_step, uint64_t begin_ns) const {
  constexpr uint64_t kHeld = uint64_t{1} << 30, kReserved = uint64_t{2} << 30, kBase = 0x12C0'0000'0000;
  constexpr uint64_t kPage = 512;
  const auto bytes = static_cast<int64_t>((in_step + 1) * kPage);
  for (const bool takes : {true, false}) {
    auto memory = Headed<format::CannMemory>(device, LevelOf(CannLevel::kNode), kTaskMemoryInfo, 48,
                                             begin_ns + (takes ? 1000 : kCallNs - 1000));
    memory.address = kBase + (uint64_t{device.number} << 40) + in_step * kPage * TaskStory::kTasksPerStep;
    memory.size = takes ? bytes : -bytes;
    memory.op_name = op;
    memory.allocated = kHeld + (takes ? static_cast<uint64_t>(bytes) : 0);
    memory.reserved = kReserved;
    memory.device = device.number;
    Tell(memory);
  }
}

// To the host, as large as one task may copy.
void Modules::LaunchCopy(const Device& device, const Task& task, uint64_t begin_ns) const {
  constexpr uint16_t kDeviceToHost = 2;
  constexpr uint64_t kBytes = uint64_t{1} << 20;
  const uint64_t end_ns = begin_ns + kCallNs, at_ns = begin_ns + kCallNs / 2;
  const uint16_t runtime = LevelOf(CannLevel::kRuntime);
  if (Is(kTaskTime | kRuntimeTrace)) {
    auto copy = Headed<format::CannCopy>(device, runtime, kMemcpyInfo, 18, at_ns);
    copy.bytes = copy.most_bytes = kBytes;
    copy.operation = kDeviceToHost;
    Tell(copy);
  }
  Track(device, task, at_ns, kMemcpyAsync);
  if (Is(kRuntimeApiSwitch)) Call(device, runtime, kMemcpyCall, begin_ns + 4000, end_ns - 4000, 0);
  if (Is(kAclCalls)) Call(device, LevelOf(CannLevel::kAcl), kAclMemcpy, begin_ns, end_ns, 0);
}

void Modules::Track(const Device& device, const Task& task, uint64_t at_ns, uint64_t task_type,
                    uint64_t kernel) const {
  if (!Is(kTaskTime | kRuntimeTrace)) return;
  auto track = Headed<format::CannTaskTrack>(device, LevelOf(CannLevel::kRuntime), kTaskTrack, 40, at_ns);
  track.device = static_cast<uint16_t>(device.number);
  track.stream = task.stream;
  // Of a 950 one number of 32 bits (task_david.cc, GetProfTaskId), whose halves its log has; of others the
  // task's and how often these have run over (stub_task.cc).
  track.task = device.chip->is_950() ? task.stream : task.id;
  track.batch = device.chip->is_950() ? task.id : static_cast<uint16_t>(task.index >> 16);
  track.task_type = task_type;
  if (kernel != 0) {
    track.kernel = kernel;
    track.blocks = static_cast<uint16_t>(task.blocks);
  }
  Tell(track);
}

// One call launches all its parts, one after the other.
void Modules::LaunchCollective(const Device& device, const Task& first, uint64_t begin_ns) const {
  constexpr uint64_t kAround = 3000, kParts = TaskStory::kParts;
  const uint64_t end_ns = begin_ns + 2 * kAround + kParts * kPartNs, at_ns = end_ns - kAround;
  const uint16_t node = LevelOf(CannLevel::kNode);
  for (uint64_t part = 0; part < kParts; ++part) {
    Task task = first;
    task.index += part;
    task.id = static_cast<uint16_t>(task.index);
    LaunchPart(device, task, begin_ns + kAround + part * kPartNs);
  }
  if (Is(kTaskTimeL1Switch)) {
    auto info = Headed<format::CannNodeInfo>(device, node, kNodeBasicInfo, 28, at_ns);
    info.op_name = collective_;
    info.task_type = kGeHccl;
    info.op_type = collective_type_;
    Tell(info);
  }
  if (Is(kAclCalls | kHcclTrace)) {
    constexpr uint8_t kFp16 = 3;
    auto op = Headed<format::CannCommOp>(device, node, kHcclOpInfo, 26, at_ns);
    op.data_type = kFp16;
    op.count = uint64_t{1} << 20;
    op.algorithm = algorithm_;
    op.group = group_;
    Tell(op);
  }
  if (Is(kAclCalls | kTaskTime)) Call(device, node, kLaunchType, begin_ns + 2000, end_ns - 2000, collective_);
  if (Is(kAclCalls)) Call(device, LevelOf(CannLevel::kAcl), kAclHccl, begin_ns, end_ns, 0);
}

void Modules::LaunchPart(const Device& device, const Task& task, uint64_t begin_ns) const {
  constexpr uint32_t kNone = UINT32_MAX, kFp16 = 3, kHccs = 1, kUbLink = 7, kNoRdma = 255;
  constexpr uint32_t kBySdma = 0, kLocal = 2, kByUb = 3;
  using enum TaskStory::Part;
  const TaskStory::Part what = TaskStory::PartKind(*device.chip, task);
  const uint64_t end_ns = begin_ns + kPartNs - 500, at_ns = begin_ns + kPartNs / 2;
  const uint64_t name = what == kNotified   ? notify_wait_
                        : what == kNotifies ? notify_record_
                        : what == kReduces  ? reduce_
                        : what == kByCcu    ? ccu_
                                            : copy_;
  const uint32_t task_type = what == kNotified   ? kNotifyWait
                             : what == kNotifies ? kNotifyRecord
                             : what == kReduces  ? kReduceAsync
                             : what == kByCcu    ? kCcuLaunch
                                                 : kMemcpyAsync;
  Track(device, task, at_ns, task_type);
  if (Is(kHcclTrace | kTaskTimeL1Switch)) {
    const auto ranks = static_cast<uint32_t>(devices_.size());
    const bool notifies = what == kNotified || what == kNotifies;
    auto part =
        Headed<format::CannCommPart>(device, LevelOf(CannLevel::kCommunication), kHcclInfo, 232, at_ns);
    part.name = name;
    part.group = group_;
    part.rank_size = ranks;
    part.local_rank = device.number;
    part.remote_rank = (device.number + 1) % ranks;
    part.transport = device.chip->is_950() ? kByUb : kBySdma;
    part.link = device.chip->is_950() ? kUbLink : kHccs;
    if (part.remote_rank == part.local_rank) part.transport = kLocal, part.link = 0;
    part.context = kNone;
    part.reduces = what == kReduces ? 0 : kNone;
    part.data_type = kFp16;
    part.rdma = kNoRdma;
    part.notify = notifies ? uint64_t{0x100} + task.index % TaskStory::kTasksPerStep : UINT64_MAX;
    if (!notifies) part.bytes = uint64_t{2} << 20;
    Tell(part);
  }
  if (Is(kTaskTimeL1Switch))
    Call(device, LevelOf(CannLevel::kCommunication), kHcclMaster, begin_ns, end_ns, name);
}

}  // namespace profd::sim::mspti
