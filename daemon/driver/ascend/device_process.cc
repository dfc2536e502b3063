#include "daemon/driver/ascend/device_process.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "daemon/driver/ascend/vendor_library.h"
#include "daemon/driver/starts.h"
#include "daemon/driver/versions.h"

namespace profd::driver {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr char kLibraryName[] = "libtsdclient.so";
constexpr const char* kUsualToolkits[] = {"/usr/local/Ascend/cann", "/usr/local/Ascend/ascend-toolkit/latest",
                                          "/usr/local/Ascend/latest", "/usr/local/Ascend/nnae/latest"};

// The library's structures and numbers, LP64.
constexpr int32_t kAdprofProcess = 8;
constexpr int32_t kCanAdprof = 5;
constexpr int32_t kRuns = 0;
constexpr uint32_t kDone = 0;

struct Argument {
  const char* text;
  uint64_t bytes;
};
struct OpenRequest {
  int32_t type;
  void* environment;
  uint64_t environment_count;
  const char* path;
  uint64_t path_bytes;
  Argument* arguments;
  uint64_t argument_count;
  pid_t* process;
};
static_assert(sizeof(OpenRequest) == 64);
struct ProcessState {
  pid_t process;
  int32_t type;
  int32_t state;
};
static_assert(sizeof(ProcessState) == 12);

// The driver's event scheduler.
constexpr char kGroup[] = "prof_adprof_grp";
constexpr int32_t kOwnThreads = 1;
constexpr int32_t kGroupByName = 0;
constexpr unsigned long long kStartEvents = 1ULL << 48;
constexpr int kOnce = 1;  // ms
struct GroupPara {
  int32_t type;
  uint32_t threads;
  char name[16];
  int32_t reserved[3];
};
struct GroupQuery {
  int32_t pid;
  char name[16];
};
struct Buffer {
  void* data;
  unsigned bytes;
};
constexpr size_t kEventBytes = 1024;  // what an event needs, and much more

// The vendor's collector gives its own length here; a process that sessions share has none.
constexpr int kNoEnd = -1;

}  // namespace

struct DeviceProcess::Library {
  uint32_t (*capability)(uint32_t, int32_t, uint64_t) = nullptr;
  uint32_t (*open)(uint32_t, OpenRequest*) = nullptr;
  uint32_t (*states)(uint32_t, ProcessState*, uint32_t) = nullptr;
  uint32_t (*close)(uint32_t, const ProcessState*, uint32_t) = nullptr;
};

// Only newer drivers have them.
struct DeviceProcess::Events {
  int (*attach)(unsigned) = nullptr;
  int (*query)(unsigned, int, Buffer*, Buffer*) = nullptr;
  int (*create)(unsigned, GroupPara*, unsigned*) = nullptr;
  int (*subscribe)(unsigned, unsigned, unsigned, unsigned long long) = nullptr;
  int (*wait)(unsigned, unsigned, unsigned, int, void*) = nullptr;
};

std::vector<std::string> Toolkits(const std::string& toolkit) {
  if (!toolkit.empty()) return {toolkit};
  std::vector<std::string> roots;
  if (const char* home = std::getenv("ASCEND_HOME_PATH"); home != nullptr && *home == '/')
    roots.emplace_back(home);
  roots.insert(roots.end(), std::begin(kUsualToolkits), std::end(kUsualToolkits));
  return roots;
}

std::vector<std::string> ToolkitFolders(const std::string& driver_library, const std::string& toolkit) {
  std::vector<std::string> folders;
  if (std::string beside = FolderOf(driver_library); !beside.empty()) folders.push_back(std::move(beside));
  for (const std::string& root : Toolkits(toolkit)) folders.push_back(root + "/lib64");
  return folders;
}

std::vector<std::string> ProcessArguments(uint32_t physical_id, const ProcessPara& para) {
  std::vector<std::string> arguments = {"adprof", "host_pid:" + std::to_string(::getpid()),
                                        "dev_id:" + std::to_string(physical_id),
                                        "profiling_period:" + std::to_string(kNoEnd)};
  const auto add = [&arguments](std::string text) { arguments.push_back(std::move(text)); };
  if (para.cpus_ms != 0) {
    add("cpu_profiling:on");
    add("aiCtrlCpuProfiling:on");
    add(std::string("ai_ctrl_cpu_profiling_events:") + kCpuEvents);
    add("cpu_sampling_interval:" + std::to_string(para.cpus_ms));
    add("hscb:off");
  }
  if (para.system_ms != 0) {
    add("sys_profiling:on");
    add("sys_sampling_interval:" + std::to_string(para.system_ms));
  }
  if (para.processes_ms != 0) {
    add("pid_profiling:on");
    add("pid_sampling_interval:" + std::to_string(para.processes_ms));
  }
  return arguments;
}

DeviceProcess::DeviceProcess(void* driver, std::vector<std::string> folders)
    : folders_(std::move(folders)), events_([driver] {
        const VendorLibrary library(driver);
        auto events = std::make_unique<Events>();
        library.Bind(events->attach, "halEschedAttachDevice");
        library.Bind(events->query, "halEschedQueryInfo");
        library.Bind(events->create, "halEschedCreateGrpEx");
        library.Bind(events->subscribe, "halEschedSubscribeEvent");
        library.Bind(events->wait, "halEschedWaitEvent");
        return events;
      }()) {}

DeviceProcess::~DeviceProcess() = default;

std::string DeviceProcess::Missing() const {
  if (!FindLibrary(folders_, kLibraryName).empty()) return {};
  return std::string(kLibraryName) +
         ", which starts the vendor's process on the device, is not on this node: install the CANN toolkit "
         "or name its folder in driver.toolkit";
}

Result<const DeviceProcess::Library*> DeviceProcess::Load() {
  const std::lock_guard lock(mutex_);
  if (library_ != nullptr) return library_.get();
  const std::string path = FindLibrary(folders_, kLibraryName);
  if (path.empty()) return Status(Code::kUnavailable, Missing());
  PROFD_ASSIGN_OR_RETURN(const VendorLibrary loaded, VendorLibrary::Load(path));
  auto library = std::make_unique<Library>();
  loaded.Bind(library->capability, "TsdCapabilityGet");
  loaded.Bind(library->open, "TsdProcessOpen");
  loaded.Bind(library->states, "TsdGetProcListStatus");
  loaded.Bind(library->close, "ProcessCloseSubProcList");
  if (library->capability == nullptr || library->open == nullptr || library->states == nullptr ||
      library->close == nullptr) {
    return Status(Code::kFailedPrecondition, path + " cannot start processes on devices: it is too old");
  }
  library_ = std::move(library);
  return library_.get();
}

// The process tells its collector by an event that it samples, and ends when nobody is there to be told. What
// profd looks at is the device's list of channels.
Status DeviceProcess::Attach(uint32_t device) const {
  const auto failed = [](const char* what, int code) {
    return Status(Code::kUnavailable,
                  std::string("the driver's event scheduler: ") + what + ": " + DescribeCode(code));
  };
  if (events_->attach == nullptr || events_->query == nullptr || events_->create == nullptr ||
      events_->subscribe == nullptr || events_->wait == nullptr) {
    return {Code::kFailedPrecondition, "the driver has no event scheduler, which processes on a device need"};
  }
  // A second time it says so, which is no error here.
  events_->attach(device);
  GroupQuery query{};
  query.pid = ::getpid();
  std::string_view(kGroup).copy(query.name, sizeof query.name - 1);
  unsigned group = 0;
  Buffer in{&query, sizeof query}, out{&group, sizeof group};
  if (events_->query(device, kGroupByName, &in, &out) != kOk) {
    GroupPara para{};
    para.type = kOwnThreads;
    para.threads = 1;
    std::string_view(kGroup).copy(para.name, sizeof para.name - 1);
    if (const int code = events_->create(device, &para, &group); code != kOk) return failed("no group", code);
  }
  if (const int code = events_->subscribe(device, group, 0, kStartEvents); code != kOk) {
    return failed("no events", code);
  }
  // The group's thread is known to the scheduler once it has waited.
  alignas(8) std::array<std::byte, kEventBytes> event{};
  events_->wait(device, group, 0, kOnce, event.data());
  return Status::Ok();
}

Result<int> DeviceProcess::Open(uint32_t device, const std::vector<std::string>& arguments) {
  PROFD_ASSIGN_OR_RETURN(const Library* const library, Load());
  uint64_t can = 0;  // the library writes a bool, or more
  const uint32_t asked = library->capability(device, kCanAdprof, reinterpret_cast<uint64_t>(&can));
  if (asked != kDone || can == 0) {
    return Status(Code::kFailedPrecondition, "the device's software has no process that samples its system");
  }
  PROFD_RETURN_IF_ERROR(Attach(device));
  std::vector<Argument> list;
  list.reserve(arguments.size());
  for (const std::string& argument : arguments) list.push_back({argument.c_str(), argument.size()});
  pid_t process = 0;
  OpenRequest request{};
  request.type = kAdprofProcess;
  request.arguments = list.data();
  request.argument_count = list.size();
  request.process = &process;
  if (const uint32_t code = library->open(device, &request); code != kDone) {
    return Status(Code::kUnavailable,
                  "the vendor's process could not be started on the device: TsdProcessOpen says " +
                      std::to_string(code));
  }
  ProcessState state{process, kAdprofProcess, -1};
  const uint32_t code = library->states(device, &state, 1);
  if (code == kDone && state.state == kRuns) return static_cast<int>(process);
  library->close(device, &state, 1);
  return Status(Code::kUnavailable, "the vendor's process on the device ended at once (state " +
                                        std::to_string(state.state) + ", " + std::to_string(code) + ")");
}

Status DeviceProcess::Close(uint32_t device, int process) {
  PROFD_ASSIGN_OR_RETURN(const Library* const library, Load());
  const ProcessState state{process, kAdprofProcess, kRuns};
  const uint32_t code = library->close(device, &state, 1);
  if (code == kDone) return Status::Ok();
  return {Code::kUnavailable,
          "the vendor's process on the device could not be ended (" + std::to_string(code) + ")"};
}

}  // namespace profd::driver
