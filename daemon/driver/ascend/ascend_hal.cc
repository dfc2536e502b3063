#include "daemon/driver/ascend/ascend_hal.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "daemon/driver/ascend/start/channels.h"
#include "daemon/driver/ascend/start/qos_streams.h"
#include "daemon/driver/offers.h"

namespace profd::driver {

using base::Code;
using base::Result;
using base::Status;

namespace {

constexpr char kInstallRecord[] = "/etc/ascend_install.info";
constexpr char kLibraryName[] = "libascend_hal.so";

struct QosQuery {
  uint32_t device;
  uint16_t stream_count;
  uint16_t mode;
  uint8_t mpam_id[20];
  char stream_name[256];
};
static_assert(sizeof(QosQuery) == 284);
constexpr uint16_t kQosListIds = 0;
constexpr uint16_t kQosNameOfId = 1;

constexpr uint32_t kRealTime = 1;

// HAL_PCIE_INFO of the vendor's ascend_hal_base.h (hicann/runtime, pkg_inc/driver), where the next two are
// from, too.
struct PcieQuery {
  uint32_t domain, bus, device, function;
  uint32_t reserved[20];
};
static_assert(sizeof(PcieQuery) == 96);
constexpr const char* kPciFolder = "/sys/bus/pci/devices";
// halGetPairDevicesInfo: what is asked for, and its answers (TOPOLOGY_…) by number.
constexpr int32_t kTopology = 0;
constexpr const char* kLinkNames[] = {"HCCS", "PIX", "PIB", "PHB", "SYS", "SIO", "HCCS_SW", "UB"};

// halGetDeviceInfo: modules and what to ask of them.
constexpr int32_t kSystem = 0, kAiCpuModule = 1, kControlCpu = 2, kAiCoreModule = 4, kTsCpuModule = 5,
                  kPcieModule = 6, kVectorCore = 7, kQosModule = 9;
constexpr int32_t kEnv = 0, kVersion = 1, kCoreNum = 3, kFrequency = 4, kOccupy = 8, kCoreId = 9,
                  kEndian = 11, kSysCount = 13, kMonotonicRaw = 14, kUtilization = 23, kHostOscillator = 24,
                  kDeviceOscillator = 25, kCurrentFrequency = 32, kConfig = 33, kPcieIds = 66;

struct FactSource {
  int32_t module;
  int32_t info;
  int64_t DeviceFacts::*fact;
};
constexpr FactSource kFactSources[] = {
    {kSystem, kEnv, &DeviceFacts::env_type},
    {kControlCpu, kCoreId, &DeviceFacts::ctrl_cpu_id},
    {kControlCpu, kCoreNum, &DeviceFacts::ctrl_cpu_core_num},
    {kControlCpu, kEndian, &DeviceFacts::ctrl_cpu_endian_little},
    {kAiCpuModule, kCoreNum, &DeviceFacts::ai_cpu_core_num},
    {kAiCpuModule, kCoreId, &DeviceFacts::ai_cpu_core_id},
    {kAiCpuModule, kOccupy, &DeviceFacts::aicpu_occupy_bitmap},
    {kAiCoreModule, kCoreNum, &DeviceFacts::ai_core_num},
    {kAiCoreModule, kCoreId, &DeviceFacts::ai_core_id},
    {kVectorCore, kCoreNum, &DeviceFacts::aiv_num},
    {kTsCpuModule, kCoreNum, &DeviceFacts::ts_cpu_core_num},
};

// Text out of a fixed field that may lack its NUL; what would break a list or a terminal becomes '_'.
std::string CleanText(const char* field, size_t size) {
  std::string text(field, ::strnlen(field, size));
  for (char& c : text) {
    if (c < ' ' || c > '~' || c == ',' || c == '"' || c == '\\') c = '_';
  }
  return text;
}

Status CallFailed(const std::string& what, int code) {
  switch (code) {
    case 46:
    case 88:
      return {Code::kPermissionDenied, what + ": " + DescribeCode(code)};
    case 1:
    case 2:
    case 11:
      return {Code::kNotFound, what + ": " + DescribeCode(code)};
    default:
      return {Code::kUnavailable, what + ": " + DescribeCode(code)};
  }
}

std::string DeviceText(uint32_t device) { return "device " + std::to_string(device); }

const char* StatusText(int status) {
  switch (status) {
    case 0:
      return "the device is initialising";
    case 2:
      return "the device reports an exception";
    case 3:
      return "the device sleeps";
    case kCommunicationLost:
      return "the device has lost communication with the host";
    default:
      return "the device reports an unknown state";
  }
}

std::string LoadedFrom(void* handle, const std::string& asked) {
  link_map* map = nullptr;
  if (::dlinfo(handle, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr || map->l_name[0] == '\0') return asked;
  return map->l_name;
}

}  // namespace

std::vector<std::string> InstalledLibraries(std::string_view install_record) {
  constexpr std::string_view kKey = "Driver_Install_Path_Param=";
  std::istringstream lines{std::string(install_record)};
  std::string line;
  while (std::getline(lines, line)) {
    if (line.rfind(kKey, 0) != 0) continue;
    std::string root = line.substr(kKey.size());
    while (!root.empty() && (root.back() == '\r' || root.back() == ' ' || root.back() == '/'))
      root.pop_back();
    if (root.empty() || root.front() != '/') return {};
    const std::string folder = root + "/driver/lib64/";
    return {folder + "driver/" + kLibraryName, folder + "common/" + kLibraryName, folder + kLibraryName};
  }
  return {};
}

Result<std::unique_ptr<Driver>> AscendHal::Load(const std::string& path, const std::string& toolkit) {
  std::vector<std::string> candidates{path};
  if (path.empty()) {
    std::ifstream record(kInstallRecord);
    candidates = InstalledLibraries(std::string(std::istreambuf_iterator<char>(record), {}));
    candidates.emplace_back(kLibraryName);
  }

  void* library = nullptr;
  std::string problem;
  for (const std::string& candidate : candidates) {
    // NODELETE: the library's own threads outlive any close.
    library = ::dlopen(candidate.c_str(), RTLD_LAZY | RTLD_NODELETE);
    if (library != nullptr) break;
    const char* error = ::dlerror();
    // The first candidate that exists tells more than "no such file" of the rest.
    if (problem.empty() || ::access(candidate.c_str(), F_OK) == 0)
      problem = error == nullptr ? candidate : error;
  }
  if (library == nullptr) {
    return Status(
        path.empty() ? Code::kUnavailable : Code::kInvalidArgument,
        "cannot load the driver library: " + problem +
            (path.empty() ? "; install the NPU driver or name its library with --hal"
                          : "; check --hal or driver.library, or leave both out: profd then looks where "
                            "the driver is installed"));
  }

  auto calls = std::make_unique<HalCalls>(library);
  const std::string loaded_from = LoadedFrom(library, path);
  if (!calls->IsDriverLibrary()) {
    return Status(Code::kInvalidArgument,
                  loaded_from + " is not a driver library: it has no function of the channel " +
                      "API (prof_drv_start and its like); name the real " + kLibraryName + " with --hal");
  }
  return std::unique_ptr<Driver>(new AscendHal(loaded_from, std::move(calls), toolkit));
}

AscendHal::AscendHal(std::string path, std::unique_ptr<HalCalls> calls, const std::string& toolkit)
    : path_(std::move(path)),
      calls_(std::move(calls)),
      process_(calls_->library(), ToolkitFolders(path_, toolkit)),
      cards_(std::make_shared<Cards>(CardFolders(path_))),
      ports_(cards_),
      health_(cards_) {}
AscendHal::~AscendHal() = default;

uint32_t AscendHal::AskApiVersion() const {
  int version = 0;
  const bool told = calls_->ApiVersion(&version) == kOk && version > 0;
  return api_version_ = told ? static_cast<uint32_t>(version) : 0;
}

std::vector<std::string> AscendHal::missing_symbols() const { return calls_->missing(); }

void AscendHal::SetTape(const std::shared_ptr<Tape>& tape) { calls_->SetTape(tape); }

Result<std::vector<uint32_t>> AscendHal::DeviceIds() {
  AskApiVersion();
  // "Not supported" is how a host without devices of its own answers.
  uint32_t count = 0;
  int code = calls_->DeviceCount(&count);
  if (code == kNotSupported) return std::vector<uint32_t>{};
  if (code != kOk) return CallFailed("cannot count the devices", code);
  std::vector<uint32_t> ids(std::min(count, kMaxDevices));
  if (ids.empty()) return ids;
  code = calls_->DeviceIds(ids.data(), static_cast<uint32_t>(ids.size()));
  if (code != kOk) return CallFailed("cannot list the devices", code);
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  ids.erase(std::lower_bound(ids.begin(), ids.end(), kMaxDevices), ids.end());
  uint64_t listed = 0;
  for (const uint32_t id : ids) listed |= uint64_t{1} << id;
  listed_ = listed;
  return ids;
}

Result<int> AscendHal::DeviceStatus(uint32_t device) {
  int status = kWorking;
  if (!calls_->has_status()) return status;
  const int code = calls_->DeviceStatus(device, &status);
  if (code != kOk) return CallFailed("cannot read the status of " + DeviceText(device), code);
  return status;
}

Result<std::vector<uint32_t>> AscendHal::Channels(uint32_t device) {
  const std::string what = "cannot list the channels of " + DeviceText(device);
  ChannelTable list{};
  const int code = calls_->GetChannels(device, &list);
  if (code != kOk) return CallFailed(what, code);
  if (list.count == 0 || list.count > kMaxChannels) {
    return Status(Code::kUnavailable,
                  what + ": the driver answers with " + std::to_string(list.count) + " channels");
  }
  std::vector<uint32_t> ids;
  for (uint32_t i = 0; i < list.count; ++i) {
    const uint32_t id = list.channel[i].id;
    if (id != 0 && id < kMaxChannels) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

std::optional<int64_t> AscendHal::Info(uint32_t device, int32_t module, int32_t info) const {
  int64_t value = 0;
  if (calls_->Info(device, module, info, &value) != kOk) return {};
  return value;
}

std::optional<double> AscendHal::FrequencyMhz(uint32_t device, int32_t info) const {
  constexpr int64_t kMaxKhz = 100'000'000;  // all ones means "not trusted", in 32 or 64 bits
  if (AskApiVersion() < kApiOscillator) return {};
  const std::optional<int64_t> khz = Info(device, kSystem, info);
  if (!khz || *khz <= 0 || *khz > kMaxKhz) return {};
  return static_cast<double>(*khz) / 1000;
}

std::optional<double> AscendHal::HostCounterMhz(uint32_t device) {
  return FrequencyMhz(device, kHostOscillator);
}

std::vector<QosStream> AscendHal::QosStreams(uint32_t device) const {
  std::vector<QosStream> streams;
  const auto ask = [&](QosQuery& query) {
    return calls_->InfoByBuffer(device, kQosModule, kConfig, &query, sizeof query) == kOk;
  };
  QosQuery ids{};
  ids.device = device;
  ids.mode = kQosListIds;
  if (!ask(ids)) return streams;
  const size_t count = std::min<size_t>(ids.stream_count, kQosSlots);
  for (size_t i = 0; i < count; ++i) {
    QosQuery one{};
    one.device = device;
    one.mode = kQosNameOfId;
    one.mpam_id[0] = ids.mpam_id[i];
    std::string name = ask(one) ? CleanText(one.stream_name, sizeof one.stream_name) : "";
    if (name.empty()) name = NameOfStream(ids.mpam_id[i]);
    streams.push_back({ids.mpam_id[i], std::move(name)});
  }
  return streams;
}

std::vector<DeviceLink> AscendHal::Links(uint32_t device) const {
  std::vector<DeviceLink> links;
  for (uint32_t other = 0; other < kMaxDevices; ++other) {
    int64_t kind = 0;
    if (other == device || (listed_.load() >> other & 1U) == 0 ||
        calls_->PairInfo(device, other, kTopology, &kind) != kOk)
      continue;
    const bool known = kind >= 0 && kind < static_cast<int64_t>(std::size(kLinkNames));
    links.push_back({other, known ? kLinkNames[kind] : "type " + std::to_string(kind)});
  }
  return links;
}

std::string AscendHal::PciAddress(uint32_t device) const {
  constexpr uint32_t kMostDomain = 0xffff, kMostBus = 0xff, kMostDevice = 0x1f, kMostFunction = 7;
  PcieQuery ids{};
  if (calls_->InfoByBuffer(device, kPcieModule, kPcieIds, &ids, sizeof ids) != kOk ||
      ids.domain > kMostDomain || ids.bus > kMostBus || ids.device > kMostDevice ||
      ids.function > kMostFunction) {
    return "";
  }
  char text[16];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", ids.domain, ids.bus, ids.device, ids.function);
  return text;
}

DeviceFacts AscendHal::ReadFacts(uint32_t device) {
  DeviceFacts facts;
  facts.id = facts.physical_id = device;
  const auto note = [&facts](const std::string& problem) {
    facts.error += (facts.error.empty() ? "" : "; ") + problem;
  };

  const Result<int> status = DeviceStatus(device);
  if (status.ok()) {
    facts.status = status.value();
    if (facts.status != kWorking) note(StatusText(facts.status));
  } else {
    note(status.status().message());
  }

  if (const auto version = Info(device, kSystem, kVersion)) {
    facts.chip = static_cast<Chip>(static_cast<uint32_t>(*version >> 8) & 0xff);
  } else {
    note("the driver does not say which chip it is");
  }
  facts.chip_name = ChipName(facts.chip);
  // Anything more asked of a device that is gone blocks or fails, each time anew.
  if (facts.status == kCommunicationLost) return facts;

  ChipTexts chip_info{};
  if (calls_->ChipInfo(device, &chip_info) == kOk && chip_info.name[0] != '\0') {
    facts.chip_name = CleanText(chip_info.name, sizeof chip_info.name);
  }
  uint32_t number = 0;
  if (calls_->PhysicalId(device, &number) == kOk) facts.physical_id = number;
  if (calls_->SplitMode(device, &number) == kOk) facts.split_mode = number;
  for (const FactSource& source : kFactSources) {
    if (const auto value = Info(device, source.module, source.info)) facts.*source.fact = *value;
  }

  const format::ChipTraits& traits = format::TraitsOf(facts.chip);
  facts.counter_mhz = traits.counter_mhz;
  if (const auto measured = FrequencyMhz(device, kDeviceOscillator)) {
    // On the 950 a figure off by more than this is a failed measurement: the vendor falls back to the nominal
    // value.
    constexpr double kTolerance950Mhz = 0.5;
    if (facts.chip != Chip::k950 || std::abs(*measured - traits.counter_mhz) <= kTolerance950Mhz) {
      facts.counter_mhz = *measured;
      facts.counter_measured = true;
    }
  }
  const auto aic_mhz = Info(device, kAiCoreModule, kFrequency);
  facts.aic_mhz = aic_mhz && *aic_mhz > 0 ? static_cast<double>(*aic_mhz) : traits.aic_mhz;
  const auto aiv_mhz = Info(device, kVectorCore, kFrequency);
  facts.aiv_mhz = aiv_mhz && *aiv_mhz > 0 ? static_cast<double>(*aiv_mhz) : facts.aic_mhz;

  Result<std::vector<uint32_t>> channels = Channels(device);
  if (channels.ok()) {
    facts.channels = std::move(channels).value();
  } else {
    note(channels.status().message());
  }
  if (Lists(facts, channel::kQos)) facts.qos = QosStreams(device);
  facts.links = Links(device);
  facts.pci = ReadPciPlace(kPciFolder, PciAddress(device));
  facts.no_process = process_.Missing();
  facts.no_cards = cards_->Missing();
  const bool has_port = Lists(facts, channel::kNic) || Lists(facts, channel::kRoce);
  if (has_port && facts.no_cards.empty()) facts.channels.push_back(channel::kPortCounters);
  return facts;
}

DeviceReading AscendHal::ReadNow(uint32_t device) {
  constexpr int64_t kMostMhz = 100'000;  // beyond it is no frequency
  DeviceReading reading;
  if (const Result<int> status = DeviceStatus(device); status.ok()) reading.status = *status;
  // Anything more asked of a device that is gone blocks or fails.
  if (!reading.status || reading.status == kCommunicationLost) return reading;
  const auto percent = Info(device, kAiCoreModule, kUtilization);
  if (percent && *percent >= 0 && *percent <= 100)
    reading.ai_core_utilization = static_cast<double>(*percent) / 100;
  const auto mhz = Info(device, kAiCoreModule, kCurrentFrequency);
  if (mhz && *mhz > 0 && *mhz <= kMostMhz) reading.ai_core_mhz = static_cast<double>(*mhz);
  return reading;
}

DeviceHealth AscendHal::Health(uint32_t device) { return health_.Latest(device); }

Result<format::ClockPair> AscendHal::PairClocks(uint32_t device) {
  constexpr int kWarmUps = 5;
  constexpr int kRounds = 5;
  for (int i = 0; i < kWarmUps; ++i) {
    Info(device, kSystem, kMonotonicRaw);
    Info(device, kSystem, kSysCount);
  }
  const auto middle = [](uint64_t from, uint64_t to) { return from + (to - from) / 2; };
  std::optional<format::ClockPair> best;
  for (int i = 0; i < kRounds; ++i) {
    const uint64_t wall_before = base::WallNs();
    const uint64_t counter_before = base::HostCounter();
    const uint64_t raw_before = base::RawNs();
    const auto device_raw = Info(device, kSystem, kMonotonicRaw);
    const auto device_counter = Info(device, kSystem, kSysCount);
    const uint64_t raw_after = base::RawNs();
    const uint64_t counter_after = base::HostCounter();
    const uint64_t wall_after = base::WallNs();
    // Clocks of an answer that is all ones would put the device's records anywhere.
    if (!device_raw || !device_counter || *device_raw <= 0 || *device_counter <= 0) continue;

    format::ClockPair pair;
    pair.host_raw_ns = middle(raw_before, raw_after);
    pair.host_counter = middle(counter_before, counter_after);
    pair.wall_ns = middle(wall_before, wall_after);
    pair.device_raw_ns = static_cast<uint64_t>(*device_raw);
    pair.device_counter = static_cast<uint64_t>(*device_counter);
    pair.error_ns = (raw_after - raw_before) / 2;
    if (!best || pair.error_ns < best->error_ns) best = pair;
  }
  if (!best) {
    return Status(Code::kUnavailable,
                  "cannot read the clocks of " + DeviceText(device) +
                      ": the driver does not answer, or with something that is not a time");
  }
  return *best;
}

int AscendHal::Start(uint32_t device, uint32_t channel, const StartPara& para) {
  if (channel == channel::kPortCounters) return ports_.Start(device, para.period_ms);
  std::array<std::byte, kMaxUserData> user_data = para.user_data;
  ProfStartPara native{};
  native.channel_type = static_cast<int32_t>(para.channel_type);
  native.sample_period = para.period_ms;
  native.real_time = kRealTime;
  native.user_data = para.user_data_size == 0 ? nullptr : user_data.data();
  native.user_data_size = para.user_data_size;
  return calls_->Start(device, channel, &native);
}

int AscendHal::Stop(uint32_t device, uint32_t channel) {
  if (channel == channel::kPortCounters) return ports_.Stop(device);
  return calls_->Stop(device, channel);
}

int AscendHal::Read(uint32_t device, uint32_t channel, std::byte* out, uint32_t bytes) {
  if (channel == channel::kPortCounters) return ports_.Read(device, out, bytes);
  return calls_->Read(device, channel, out, bytes);
}

int AscendHal::Flush(uint32_t device, uint32_t channel, uint32_t* waiting) {
  *waiting = 0;  // the library leaves it alone on error
  return calls_->Flush(device, channel, waiting);
}

Result<int> AscendHal::OpenProcess(uint32_t device, const ProcessPara& para) {
  uint32_t physical = device;
  if (calls_->PhysicalId(device, &physical) != kOk) physical = device;
  return process_.Open(device, ProcessArguments(physical, para));
}

Status AscendHal::CloseProcess(uint32_t device, int process) { return process_.Close(device, process); }

}  // namespace profd::driver
