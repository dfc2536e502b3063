#include "daemon/driver/capabilities.h"

#include <algorithm>
#include <iterator>

#include "base/join.h"
#include "daemon/driver/core_metrics.h"
#include "daemon/driver/instr.h"
#include "daemon/driver/qos_streams.h"
#include "daemon/driver/soc_pmu.h"
#include "format/framing.h"

namespace profd::driver {

namespace {

using format::ChipSet;
using format::Families;
using format::kEveryChip;
using format::Only;

// An unknown chip may have every kind; its channel list decides.
constexpr ChipSet k310 = Only({Chip::k310}), k910 = Only({Chip::k910}), k310P = Only({Chip::k310P}),
                  k910B = Only({Chip::k910B}), k310B = Only({Chip::k310B}), k950 = Families({Chip::k950}),
                  kOther = ~format::kNamedChips, kEvery = kEveryChip;
constexpr ChipSet kStars =
    format::ChipsWith([](const format::ChipTraits& traits) { return traits.stars && !traits.name.empty(); });

constexpr RateRange kNoRate{};
constexpr RateRange kMemoryRate{1, 100, 50};
constexpr RateRange kFineMemoryRate{1, 10000, 50};
constexpr RateRange kLinkRate{1, 50, 50};
constexpr RateRange kPortRate{1, 100, 100};
constexpr RateRange kDvppRate{1, 100, 50};
constexpr RateRange kCpuRate{1, 50, 50};
constexpr RateRange kCoreRate{1, 100, 100};
constexpr RateRange kSystemRate{1, 10, 10};

// A mode that ends in a colon has more behind it (CheckMode).
constexpr std::string_view kCacheModes[] = {"read", "write"}, kCacheModes310[] = {"capacity", "bandwidth"};
constexpr std::string_view kQosModes[] = {kFirstStreams, kStreamsMode};
constexpr std::string_view kInstrModes[] = {"cycles:1000", kCyclesMode};
constexpr std::string_view kTaskModes[] = {"tasks", kTaskFirmware};
constexpr std::string_view kTaskModesOfStars[] = {"tasks", kTaskBlocks, kTaskFirmware, "blocks+firmware"};
constexpr std::string_view kTaskModes950[] = {"tasks",       kTaskBlocks,       kTaskFewBlocks,
                                              kTaskFirmware, "blocks+firmware", "few-blocks+firmware"};
constexpr std::string_view kSocProfileModes950[] = {"all", kSocPower, kSocUnits};
constexpr std::string_view kSocModes[] = {kHitRates, "HA:", "MATA:", "SMMU:", "NOC:"};

constexpr ChannelUse kVenc{channel::kDvppVenc, "dvpp.venc"}, kJpege{channel::kDvppJpege, "dvpp.jpege"},
    kVdec{channel::kDvppVdec, "dvpp.vdec"}, kJpegd{channel::kDvppJpegd, "dvpp.jpegd"},
    kVpc{channel::kDvppVpc, "dvpp.vpc"}, kPng{channel::kDvppPng, "dvpp.png"},
    kScd{channel::kDvppScd, "dvpp.scd"}, kDvppOld{channel::kDvpp, "dvpp.data"},
    kTrackUse{channel::kTaskTrack, "ts_track.data"}, kAiCoreUse{channel::kAiCore, "aicore.data"},
    kAiVectorUse{channel::kAiVector, "aiVectorCore.data"},
    kCoreSampleUse{channel::kCoreSample, "ffts_profile.data"},
    kCoreTaskUse{channel::kCoreTask, "ffts_profile.data"};

// A kind of cores that counts by task.
constexpr Capability ByTask(std::string_view kind, ChipSet chips, ChannelUse use,
                            std::span<const std::string_view> modes) {
  return {
      .kind = kind, .chips = chips, .wanted = {{use}}, .modes = modes, .by_task = true, .needs_job = true};
}

// What the vendor's process on the device samples.
constexpr ChipSet kWithoutProcess = k310 | k310B;
constexpr Capability OfProcess(std::string_view kind, format::DeviceFile file, RateRange rate) {
  return {.kind = kind,
          .chips = kEvery & ~kWithoutProcess,
          .wanted = {{{channel::kDeviceSystem, format::kDevicePackets}}},
          .rate = rate,
          .late = true,
          .device_file = file};
}
constexpr Capability WithoutProcess(std::string_view kind, RateRange rate) {
  return {.kind = kind,
          .chips = kWithoutProcess,
          .rate = rate,
          .absent =
              "the system of this chip sends its figures over its message link (HDC), not through a "
              "driver channel"};
}

constexpr std::string_view kUnknownEvents = "which events of this chip tell hits of its cache is not known";

// A chip has a kind where the vendor's collector has a job for it or a kernel's table names the channel;
// whether this very device offers the channel is asked of the driver. Several rows may match an unknown chip:
// the first whose channel is offered counts.
constexpr Capability kCapabilities[] = {
    {"hbm", kEvery & ~(k310 | k310B), {{{channel::kHbm, "hbm.data"}}}, kMemoryRate},
    {"ddr", kEvery & ~(k910B | k950), {{{channel::kDdr, "ddr.data"}}}, kMemoryRate},
    {"llc", kEvery & ~k310, {{{channel::kLlc, "llc.data"}}}, kMemoryRate, kCacheModes},
    {.kind = "llc",
     .chips = k310,
     .rate = kMemoryRate,
     .modes = kCacheModes310,
     .absent = "the 310 counts its cache with a perf script on the device, not through a driver channel"},
    {"pcie", kEvery & ~(k310 | k310B), {{{channel::kPcie, "pcie.data"}}}, kLinkRate},
    {"hccs", kEvery & ~(k310 | k310B), {{{channel::kHccs, "hccs.data"}}}, kLinkRate},
    {"nic", kEvery & ~k310P, {{{channel::kNic, "nic.data"}}}, kPortRate},
    {.kind = "roce",
     .chips = kEvery & ~(k310 | k310P | k310B),
     .wanted = {{{channel::kRoce, "roce.data"}}},
     .rate = kPortRate,
     .one_slice = true},
    {"netdev",
     kEvery & ~(k310 | k310P | k310B),
     {{{channel::kPortCounters, "netdev_stats.data"}}},
     kPortRate},
    {.kind = "dvpp", .chips = k310 | k910, .wanted = {{kDvppOld}}, .rate = kDvppRate, .one_slice = true},
    {.kind = "dvpp",
     .chips = k310P,
     .wanted = {{kVenc, kJpege, kVdec, kJpegd, kVpc, kPng, kScd}},
     .rate = kDvppRate,
     .one_slice = true},
    {.kind = "dvpp",
     .chips = kStars | kOther,
     .wanted = {{kVenc, kJpege, kVdec, kJpegd, kVpc, kPng, kScd, kDvppOld}},
     .rate = kDvppRate,
     .one_slice = true},
    {"npu-mem", kEvery, {{{channel::kNpuMem, "npu_mem.data"}}}, kMemoryRate},
    {"npu-app-mem", kEvery, {{{channel::kNpuAppMem, "npu_mem.app"}}}, kMemoryRate},
    {"npu-module-mem", kEvery, {{{channel::kNpuModuleMem, "npu_module_mem.data"}}}, kMemoryRate},
    {"qos", k910B | kOther, {{{channel::kQos, "qos.data"}}}, kMemoryRate, kQosModes},
    {"qos", k950, {{{channel::kQos, "qos.data"}}}, kFineMemoryRate, kQosModes},
    {"soc-profile",
     k310B | k910B | kOther,
     {{{channel::kSocProfile, "stars_soc_profile.data"}}},
     kMemoryRate},
    {"soc-profile",
     k950,
     {{{channel::kSocProfile, "stars_soc_profile.data"}}},
     kFineMemoryRate,
     kSocProfileModes950},
    {"low-power", k910B, {{{channel::kLowPower, "lpmInfoConv.data"}}}, kNoRate},
    {"low-power", kEvery & ~(k310 | k910 | k910B), {{{channel::kLowPower, "lpmFreqConv.data"}}}, kNoRate},
    {"ub", k950 | kOther, {{{channel::kUb, "ub.data"}}}, kPortRate},
    {.kind = "ccu",
     .chips = k950 | kOther,
     .wanted = {{{channel::kCcu0Channels, "ccu0.stat"}, {channel::kCcu1Channels, "ccu1.stat"}}},
     .needs_job = true},
    {.kind = "ccu-task",
     .chips = k950 | kOther,
     .wanted = {{{channel::kCcu0Missions, "ccu0.instr"}, {channel::kCcu1Missions, "ccu1.instr"}}},
     .needs_job = true},
    {"tscpu", kEvery, {{{channel::kTsCpu, "tscpu.data"}}}, kCpuRate},
    OfProcess("dev-cpu", format::DeviceFile::kSystemCpu, kSystemRate),
    OfProcess("dev-mem", format::DeviceFile::kSystemMemory, kSystemRate),
    OfProcess("dev-pid-cpu", format::DeviceFile::kProcessCpu, kSystemRate),
    OfProcess("dev-pid-mem", format::DeviceFile::kProcessMemory, kSystemRate),
    OfProcess("ctrlcpu", format::DeviceFile::kCpuProfile, kCpuRate),
    WithoutProcess("dev-cpu", kSystemRate),
    WithoutProcess("dev-mem", kSystemRate),
    WithoutProcess("dev-pid-cpu", kSystemRate),
    WithoutProcess("dev-pid-mem", kSystemRate),
    WithoutProcess("ctrlcpu", kCpuRate),
    {"aicore", k310B, {{kCoreSampleUse}}, kCoreRate, kCoreModes310B},
    {"aicore", k910B, {{kCoreSampleUse}}, kCoreRate, kCoreModes910B},
    {"aicore", k950, {{kCoreSampleUse}}, kCoreRate, kCoreModes950},
    {"aicore", kOther, {{kCoreSampleUse}}, kCoreRate, kCoreModesOfOthers},
    {"aicore", k310 | k910 | k310P, {{kAiCoreUse}}, kCoreRate, kCoreModes},
    {"aicore", kOther, {{kAiCoreUse}}, kCoreRate, kCoreModesOfOthers},
    {"aivector", k310B, {{kCoreSampleUse}}, kCoreRate, kCoreModes310B},
    {"aivector", k910B, {{kCoreSampleUse}}, kCoreRate, kCoreModes910B},
    {"aivector", k950, {{kCoreSampleUse}}, kCoreRate, kCoreModes950},
    {"aivector", kOther, {{kCoreSampleUse}}, kCoreRate, kCoreModesOfOthers},
    {"aivector", kOther, {{kAiVectorUse}}, kCoreRate, kCoreModesOfOthers},
    ByTask("aicore-task", k310B, kCoreTaskUse, kCoreModes310B),
    ByTask("aicore-task", k910B, kCoreTaskUse, kCoreModes910B),
    ByTask("aicore-task", k950, kCoreTaskUse, kCoreModes950),
    ByTask("aicore-task", kOther, kCoreTaskUse, kCoreModesOfOthers),
    ByTask("aicore-task", k310 | k910 | k310P, kAiCoreUse, kCoreModes),
    ByTask("aicore-task", kOther, kAiCoreUse, kCoreModesOfOthers),
    ByTask("aivector-task", k310B, kCoreTaskUse, kCoreModes310B),
    ByTask("aivector-task", k910B, kCoreTaskUse, kCoreModes910B),
    ByTask("aivector-task", k950, kCoreTaskUse, kCoreModes950),
    ByTask("aivector-task", kOther, kCoreTaskUse, kCoreModesOfOthers),
    ByTask("aivector-task", kOther, kAiVectorUse, kCoreModesOfOthers),
    {.kind = "soc-pmu",
     .chips = k910B | k950,
     .wanted = {{{channel::kSocPmu, "socpmu.data"}}},
     .modes = kSocModes,
     .needs_job = true},
    {.kind = "soc-pmu", .chips = kOther, .modes = kSocModes, .absent = kUnknownEvents},
    // Where both are there the vendor counts hits of the cache with those of the translation.
    {.kind = "l2", .chips = k910B | k950, .wanted = {{{channel::kSocPmu, "socpmu.data"}}}, .needs_job = true},
    {.kind = "l2",
     .chips = kEvery & ~(k310 | kOther),
     .wanted = {{{channel::kL2Cache, "l2_cache.data"}}},
     .needs_job = true},
    {.kind = "l2", .chips = kOther, .absent = kUnknownEvents},
    {.kind = "aicpu",
     .chips = kEvery & ~k310,
     .wanted = {{{channel::kAiCpu, "aicpu.data"}, {channel::kCustomAiCpu, "aicpu.data"}}},
     .rate = kNoRate,
     .late = true},
    {.kind = "task",
     .chips = k310,
     .wanted = {{kTrackUse}},
     .rate = kNoRate,
     .modes = kTaskModes,
     .needs_job = true},
    {.kind = "task",
     .chips = k910 | k310P,
     .wanted = {{kTrackUse, {channel::kTaskLog, "hwts.data"}}},
     .rate = kNoRate,
     .modes = kTaskModes,
     .needs_job = true},
    {.kind = "task",
     .chips = k310B | k910B | kOther,
     .wanted = {{{channel::kStarsLog, "stars_soc.data"}, kTrackUse}},
     .rate = kNoRate,
     .modes = kTaskModesOfStars,
     .needs_job = true},
    {.kind = "task",
     .chips = k950,
     .wanted = {{{channel::kStarsLog, "stars_soc.data"}, kTrackUse}},
     .rate = kNoRate,
     .modes = kTaskModes950,
     .needs_job = true},
    {.kind = "instr", .chips = k910B | kOther, .modes = kInstrModes, .needs_job = true},
    {.kind = "instr", .chips = k950, .needs_job = true},
    {.kind = "aicpu",
     .chips = k310,
     .rate = kNoRate,
     .absent = "the 310 sends AI CPU records over its message link (HDC), not through a driver channel"},
};

constexpr std::string_view kKindNames[] = {
    "hbm",     "ddr",         "llc",         "pcie",        "hccs",          "nic",
    "roce",    "netdev",      "dvpp",        "npu-mem",     "npu-app-mem",   "npu-module-mem",
    "qos",     "soc-profile", "low-power",   "ub",          "ccu",           "ccu-task",
    "tscpu",   "aicore",      "aivector",    "aicore-task", "aivector-task", "soc-pmu",
    "l2",      "aicpu",       "task",        "instr",       "ctrlcpu",       "dev-cpu",
    "dev-mem", "dev-pid-cpu", "dev-pid-mem",
};

constexpr uint32_t kStartOrder[] = {
    channel::kDdr,          channel::kHbm,          channel::kLlc,          channel::kAiCore,
    channel::kAiVector,     channel::kDvppVenc,     channel::kDvppJpege,    channel::kDvppVdec,
    channel::kDvppJpegd,    channel::kDvppVpc,      channel::kDvppPng,      channel::kDvppScd,
    channel::kDvpp,         channel::kNic,          channel::kPcie,         channel::kHccs,
    channel::kUb,           channel::kRoce,         channel::kPortCounters, channel::kNpuAppMem,
    channel::kNpuMem,       channel::kNpuModuleMem, channel::kLowPower,     channel::kQos,
    channel::kAiCpu,        channel::kCustomAiCpu,  channel::kTsCpu,        channel::kTaskTrack,
    channel::kTaskLog,      channel::kCcu0Missions, channel::kCcu1Missions, channel::kCcu0Channels,
    channel::kCcu1Channels, channel::kSocPmu,       channel::kL2Cache,      channel::kStarsLog,
    channel::kSocProfile,   channel::kCoreTask,     channel::kCoreSample,   channel::kDeviceSystem,
};

// The channels that a row wants of a device: those of the table, or one per core.
std::vector<ChannelUse> WantedOf(const Capability& row, const DeviceFacts& device) {
  if (row.kind == "instr") return InstrChannels(device);
  return {row.wanted.begin(), std::ranges::find(row.wanted, 0u, &ChannelUse::channel)};
}

// "135, 136"; of many the first and the last.
std::string Numbers(const std::vector<ChannelUse>& uses) {
  constexpr size_t kMostShown = 9;
  if (uses.size() > kMostShown) {
    return std::to_string(uses.front().channel) + " to " + std::to_string(uses.back().channel);
  }
  return base::Joined(uses, ", ", &ChannelUse::channel);
}

std::string DeviceName(const DeviceFacts& device) {
  return "device " + std::to_string(device.id) + " (" + ChipName(device.chip) + ")";
}

// What a channel list cannot tell: conditions on the driver and the device. "" = none stands in the way.
std::string Obstacle(const Capability& capability, const DeviceFacts& device, uint32_t api_version) {
  if (capability.kind == "qos" && device.qos.empty()) return "the driver names no QoS streams";
  const bool of_cores = capability.kind == "aicore" || capability.kind == "instr";
  if (of_cores && device.ai_core_num <= 0) return "the driver reports no AI cores";
  if (capability.kind == "aivector" && device.aiv_num <= 0) return "the driver reports no vector cores";
  if (capability.kind == "aicpu" || capability.device_file) {
    const std::string what = capability.device_file ? "figures of the device's system" : "AI CPU records";
    if (api_version < kApiProcessChannels)
      return "the driver is too old for " + what + " (API below 0x072316)";
    if (device.split_mode != 0 && (device.chip == Chip::k910 || device.chip == Chip::k310P)) {
      return what + " are not available while the device is split into virtual NPUs";
    }
  }
  if (capability.device_file) return device.no_process;
  return {};
}

}  // namespace

std::span<const std::string_view> DeviceKindNames() { return kKindNames; }

const Capability* AnyCapability(std::string_view kind) {
  const auto* found = std::find_if(std::begin(kCapabilities), std::end(kCapabilities),
                                   [kind](const Capability& row) { return row.kind == kind; });
  return found == std::end(kCapabilities) ? nullptr : found;
}

size_t StartRank(uint32_t channel) {
  if (const auto index = InstrIndex(channel)) return std::size(kStartOrder) + *index;
  const auto* const found = std::find(std::begin(kStartOrder), std::end(kStartOrder), channel);
  if (found == std::end(kStartOrder)) return std::size(kStartOrder) + kInstrGroups * kCoresOfGroup;
  return static_cast<size_t>(found - std::begin(kStartOrder));
}

bool Lists(const DeviceFacts& device, uint32_t channel) {
  return std::binary_search(device.channels.begin(), device.channels.end(), channel);
}

Offer LookUp(std::string_view kind, const DeviceFacts& device, uint32_t api_version) {
  Offer offer;
  std::vector<ChannelUse> wanted;
  for (const Capability& row : kCapabilities) {
    if (row.kind != kind || !row.chips.Has(device.chip)) continue;
    if (offer.capability == nullptr) offer.capability = &row;
    for (const ChannelUse& use : WantedOf(row, device)) {
      wanted.push_back(use);
      if (row.late || Lists(device, use.channel)) offer.channels.push_back(use);
    }
    if (!offer.channels.empty()) {
      offer.capability = &row;
      break;
    }
  }

  if (offer.capability == nullptr) {
    offer.reason = "a " + ChipName(device.chip) + " has no " + std::string(kind);
  } else if (!offer.capability->absent.empty()) {
    offer.reason = offer.capability->absent;
  } else if (device.status == kCommunicationLost) {
    offer.reason = DeviceName(device) + " has lost communication with the host";
  } else if (device.channels.empty() && !device.error.empty()) {
    offer.reason = DeviceName(device) + ": " + device.error;
  } else if (offer.channels.empty() && kind == "netdev") {
    offer.reason = device.no_ports.empty() ? DeviceName(device) + " has no network port" : device.no_ports;
  } else if (offer.channels.empty()) {
    offer.reason = DeviceName(device) + " does not offer channel " + Numbers(wanted);
  } else {
    offer.reason = Obstacle(*offer.capability, device, api_version);
  }
  if (!offer.reason.empty()) offer.channels.clear();
  return offer;
}

bool ShareSystem(const DeviceFacts& a, const DeviceFacts& b) {
  const auto in_pairs = [](const DeviceFacts& device) {
    const format::ChipTraits& traits = format::TraitsOf(device.chip);
    return traits.dies_in_pairs ||
           (!traits.other_name.empty() && device.chip_name.find(traits.other_name) != std::string::npos);
  };
  return a.id != b.id && in_pairs(a) && in_pairs(b) && (a.physical_id ^ 1U) == b.physical_id;
}

bool TaskModeHas(std::string_view mode, std::string_view part) {
  const size_t plus = std::min(mode.find('+'), mode.size());
  return mode.substr(0, plus) == part || (plus < mode.size() && mode.substr(plus + 1) == part);
}

}  // namespace profd::driver
