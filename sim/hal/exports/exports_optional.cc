// What only newer drivers have; the library of an "old driver" is built without this file.
#include <algorithm>
#include <chrono>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/hal/driver.h"
#include "sim/hal/exports/export.h"
#include "sim/hal/variant.h"
#include "sim/scenario/producers/channel_ids.h"

using profd::sim::Call;
using profd::sim::ChipInfo;
using profd::sim::Driver;
using profd::sim::kMaxChannels;
using profd::sim::kMaxDevices;
namespace code = profd::sim::code;
namespace channel = profd::sim::channel;

const uint32_t profd::sim::kLibraryApiVersion = 0x07241a;

PROFD_SIM_EXPORT int halProfDataFlush(unsigned device, unsigned id, unsigned* waiting) {
  return Driver::Get().Flush(device, id, waiting);
}
PROFD_SIM_EXPORT int halGetDeviceInfoByBuff(uint32_t device, int32_t module, int32_t info, void* buffer,
                                            int32_t* size) {
  return Driver::Get().DeviceInfoByBuffer(device, module, info, buffer, size);
}
PROFD_SIM_EXPORT int halGetPairDevicesInfo(uint32_t device, uint32_t other, int32_t info, int64_t* value) {
  return Driver::Get().PairInfo(device, other, info, value);
}
PROFD_SIM_EXPORT int halGetChipInfo(unsigned device, ChipInfo* chip) {
  return Driver::Get().GetChipInfo(device, chip);
}
PROFD_SIM_EXPORT int drvGetDeviceSplitMode(unsigned device, unsigned* mode) {
  return Driver::Get().SplitMode(device, mode);
}

// ---- Sample registration: the producing side, for processes that feed 142–145 themselves. Nothing feeds
// them here.

PROFD_SIM_EXPORT int halProfSampleRegister(unsigned device, unsigned id, const void* para) {
  static std::mutex mutex;
  static std::set<std::pair<unsigned, unsigned>>& registered = *new std::set<std::pair<unsigned, unsigned>>;
  if (device >= kMaxDevices || id >= kMaxChannels || para == nullptr) return code::kInvalidValue;
  if (id != channel::kModuleMem && !channel::IsProcess(id)) return code::kNotSupported;
  const std::lock_guard lock(mutex);
  return registered.emplace(device, id).second ? code::kOk : code::kRepeatedInit;
}
PROFD_SIM_EXPORT int halProfSampleRegisterEx(unsigned, unsigned, const void*) { return code::kNotSupported; }
PROFD_SIM_EXPORT int halProfQueryAvailBufLen(unsigned device, unsigned id, const unsigned* available) {
  if (device >= kMaxDevices || id >= kMaxChannels || available == nullptr) return code::kInvalidValue;
  return code::kNotSupported;
}
PROFD_SIM_EXPORT int halProfSampleDataReport(unsigned device, unsigned id, unsigned, const void* para) {
  if (device >= kMaxDevices || id >= kMaxChannels || para == nullptr) return code::kInvalidValue;
  return code::kNotSupported;
}

// ---- Event scheduler: how a collector learns that a device process has registered 143, 144 or 145.

namespace {

constexpr int kEventUserStart = 48;
constexpr uint32_t kGroupBindCpu = 1;
constexpr pid_t kDevicePid = 4242;
constexpr char kProcessGroup[] = "prof_adprof_grp";

struct GroupPara {
  int32_t type;
  uint32_t threads;
  char name[16];
  int32_t reserved[3];
};
struct QueryInput {
  const void* buffer;
  unsigned length;
};
struct QueryOutput {
  void* buffer;
  unsigned length;
};
struct GroupQuery {
  int pid;
  char name[16];
};
struct DevicePidQuery {  // by value
  int32_t host_pid;
  uint32_t device;
  uint32_t vf;
  int32_t process_type;
  char reserved[8];
};

// The groups of this process by device and name, and which of them have had their start event.
class Groups {
 public:
  static Groups& Get() {
    static Groups& groups = *new Groups;
    return groups;
  }
  // 0: no such group.
  uint32_t Find(uint32_t device, const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto found = ids_.find({device, name});
    return found == ids_.end() ? 0 : found->second;
  }
  uint32_t Create(uint32_t device, const std::string& name) {
    const std::lock_guard lock(mutex_);
    const auto id = static_cast<uint32_t>(channel_of_.size() + kGroupBindCpu);
    ids_[{device, name}] = id;
    channel_of_[id] = name == "prof_cus_grp"  ? channel::kCusAicpu
                      : name == kProcessGroup ? channel::kAdprof
                                              : channel::kAicpu;
    return id;
  }
  // Takes the start event of the group's channel if it has come.
  bool TakeEvent(uint32_t device, uint32_t group) {
    const std::lock_guard lock(mutex_);
    const auto id = channel_of_.find(group);
    if (id == channel_of_.end() || !Driver::Get().Offers(device, id->second)) return false;
    return told_.insert(group).second;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<uint32_t, std::string>, uint32_t> ids_;
  std::map<uint32_t, uint32_t> channel_of_;
  std::set<uint32_t> told_;
};

std::string Text(const char (&name)[16]) { return {name, ::strnlen(name, sizeof name)}; }

}  // namespace

PROFD_SIM_EXPORT int halEschedAttachDevice(unsigned device) {
  if (const auto fault = Driver::Get().Fails(Call::kAttach, device)) return *fault;
  return device < kMaxDevices ? code::kOk : code::kInvalidValue;
}
PROFD_SIM_EXPORT int halEschedDettachDevice(unsigned device) {
  return device < kMaxDevices ? code::kOk : code::kInvalidValue;
}
PROFD_SIM_EXPORT int halEschedQueryInfo(unsigned device, int /*type*/, const QueryInput* in,
                                        const QueryOutput* out) {
  if (in == nullptr || out == nullptr || in->length < sizeof(GroupQuery) || out->length < sizeof(uint32_t)) {
    return code::kInvalidValue;
  }
  if (const auto fault = Driver::Get().Fails(Call::kQueryGroup, device, out->buffer, out->length))
    return *fault;
  const uint32_t id = Groups::Get().Find(device, Text(static_cast<const GroupQuery*>(in->buffer)->name));
  if (id == 0) return code::kNoGroup;
  std::memcpy(out->buffer, &id, sizeof id);
  return code::kOk;
}
PROFD_SIM_EXPORT int halEschedCreateGrpEx(unsigned device, const GroupPara* para, unsigned* group) {
  if (para == nullptr || group == nullptr) return code::kInvalidValue;
  if (const auto fault = Driver::Get().Fails(Call::kCreateGroup, device, group, sizeof *group)) return *fault;
  *group = Groups::Get().Create(device, Text(para->name));
  if (Text(para->name) == kProcessGroup) Driver::Get().NoteProcessGroup(device);
  return code::kOk;
}
PROFD_SIM_EXPORT int halEschedSubscribeEvent(unsigned device, unsigned, unsigned, unsigned long long) {
  return Driver::Get().Fails(Call::kSubscribe, device).value_or(code::kOk);
}
PROFD_SIM_EXPORT int halEschedSubmitEvent(unsigned, const void* event) {
  return event != nullptr ? code::kOk : code::kInvalidValue;
}
PROFD_SIM_EXPORT int halEschedWaitEvent(unsigned device, unsigned group, unsigned, int timeout_ms,
                                        void* event) {
  if (event == nullptr) return code::kInvalidValue;
  if (const auto fault = Driver::Get().Fails(Call::kWaitEvent, device, event, sizeof kEventUserStart))
    return *fault;
  for (int waited = 0;; ++waited) {
    if (Groups::Get().TakeEvent(device, group)) {
      std::memcpy(event, &kEventUserStart, sizeof kEventUserStart);
      return code::kOk;
    }
    if (waited >= timeout_ms) return code::kNoEvent;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// ---- Not the vendor's: how the other libraries have their faults.

PROFD_SIM_EXPORT bool halSimFails(Call call, unsigned device, void* answer, size_t bytes, int* result) {
  const auto fault = Driver::Get().Fails(call, device, answer, bytes);
  if (fault) *result = *fault;
  return fault.has_value();
}

// ---- Nor is this: how libtsdclient.so reaches the device's process here.

PROFD_SIM_EXPORT int halSimOpenProcess(unsigned device, const char* const* texts, const size_t* sizes,
                                       size_t count, int* process) {
  if (!Driver::Get().CanOpenProcess()) return code::kNotSupported;
  std::vector<std::string> arguments;
  for (size_t i = 0; i < count; ++i) arguments.emplace_back(texts[i], sizes[i]);
  const bool has_group = Groups::Get().Find(device, kProcessGroup) != 0;
  return Driver::Get().OpenProcess(device, std::move(arguments), has_group, process);
}
PROFD_SIM_EXPORT bool halSimCanOpenProcess() { return Driver::Get().CanOpenProcess(); }
PROFD_SIM_EXPORT bool halSimProcessRuns(unsigned device, int process) {
  return Driver::Get().ProcessRuns(device, process);
}
PROFD_SIM_EXPORT int halSimCloseProcess(unsigned device, int process) {
  return Driver::Get().CloseProcess(device, process);
}

// ---- Nor is this: how libdcmi.so knows of devices and their ports.

PROFD_SIM_EXPORT uint32_t halSimDeviceCount() { return Driver::Get().device_count(); }
PROFD_SIM_EXPORT int halSimPortTotals(unsigned device, uint64_t totals[Driver::kPortTotals]) {
  uint64_t values[Driver::kPortTotals];
  const int result = Driver::Get().PortTotals(device, values);
  if (result == code::kOk) std::copy(std::begin(values), std::end(values), totals);
  return result;
}

PROFD_SIM_EXPORT void halSimHealth(profd::sim::HealthConfig* health) { *health = Driver::Get().health(); }

PROFD_SIM_EXPORT int halQueryDevpid(DevicePidQuery query, pid_t* pid) {
  if (pid == nullptr) return code::kInvalidValue;
  if (!Driver::Get().Offers(query.device, channel::kAicpu)) return code::kNoProcess;
  *pid = kDevicePid;
  return code::kOk;
}
