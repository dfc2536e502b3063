#include <algorithm>
#include <iterator>

#include "base/join.h"
#include "daemon/driver/ascend/start/channels.h"
#include "daemon/driver/ascend/start/core_metrics.h"
#include "daemon/driver/ascend/start/instr.h"
#include "daemon/driver/ascend/start/qos_streams.h"
#include "daemon/driver/ascend/start/soc_pmu.h"
#include "daemon/driver/offers.h"
#include "daemon/driver/starts.h"
#include "format/decode/framing.h"

namespace profd::driver {

namespace {

using format::ChipSet;
using format::Families;
using format::kEveryChip;
using format::Kind;
using format::Only;
namespace file = format::file;

// An unknown chip may have every kind; its channel list decides.
constexpr ChipSet k310 = Only({Chip::k310}), k910 = Only({Chip::k910}), k310P = Only({Chip::k310P}),
                  k910B = Only({Chip::k910B}), k310B = Only({Chip::k310B}), k950 = Families({Chip::k950}),
                  kOther = ~format::kNamedChips, kEvery = kEveryChip;
constexpr ChipSet kStars =
    format::ChipsWith([](const format::ChipTraits& traits) { return traits.stars && !traits.name.empty(); });

// Channels that are told how often, and no more.
constexpr uint32_t kPcieChannel = 3, kDvppChannel = 6, kHccsChannel = 9, kDvppVencChannel = 135,
                   kDvppJpegeChannel = 136, kDvppVdecChannel = 137, kDvppJpegdChannel = 138,
                   kDvppVpcChannel = 139, kDvppPngChannel = 140, kDvppScdChannel = 141, kUbChannel = 146;

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

constexpr ChannelUse kVenc{kDvppVencChannel, file::kVenc}, kJpege{kDvppJpegeChannel, file::kJpege},
    kVdec{kDvppVdecChannel, file::kVdec}, kJpegd{kDvppJpegdChannel, file::kJpegd},
    kVpc{kDvppVpcChannel, file::kVpc}, kPng{kDvppPngChannel, file::kPng}, kScd{kDvppScdChannel, file::kScd},
    kDvppOld{kDvppChannel, file::kDvpp}, kTrackUse{channel::kTaskTrack, file::kTaskTrack},
    kAiCoreUse{channel::kAiCore, file::kAiCore}, kAiVectorUse{channel::kAiVector, file::kVectorCore},
    kCoreSampleUse{channel::kCoreSample, file::kBothCores},
    kCoreTaskUse{channel::kCoreTask, file::kBothCores};

// A kind of cores that counts by task.
constexpr Capability ByTask(Kind kind, ChipSet chips, ChannelUse use,
                            std::span<const std::string_view> modes) {
  return {
      .kind = kind, .chips = chips, .wanted = {{use}}, .modes = modes, .by_task = true, .needs_job = true};
}

// What the vendor's process on the device samples.
constexpr ChipSet kWithoutProcess = k310 | k310B;
constexpr Capability OfProcess(Kind kind, format::DeviceFile file, RateRange rate) {
  return {.kind = kind,
          .chips = kEvery & ~kWithoutProcess,
          .wanted = {{{channel::kDeviceSystem, format::kDevicePackets}}},
          .rate = rate,
          .late = true,
          .device_file = file};
}
constexpr Capability WithoutProcess(Kind kind, RateRange rate) {
  return {.kind = kind,
          .chips = kWithoutProcess,
          .rate = rate,
          .absent =
              "the system of this chip sends its figures over its message link (HDC), not through a "
              "driver channel"};
}

constexpr std::string_view kUnknownEvents =
    "it is not known which events of this chip count hits of its cache";

// A chip has a kind where the vendor's collector has a job for it or a kernel's table names the channel;
// whether this very device offers the channel is asked of the driver. Several rows may match an unknown chip:
// the first whose channel is offered counts.
constexpr Capability kCapabilities[] = {
    {Kind::kHbm, kEvery & ~(k310 | k310B), {{{channel::kHbm, file::kHbm}}}, kMemoryRate},
    {Kind::kDdr, kEvery & ~(k910B | k950), {{{channel::kDdr, file::kDdr}}}, kMemoryRate},
    {Kind::kLlc, kEvery & ~k310, {{{channel::kLlc, file::kLlc}}}, kMemoryRate, kCacheModes},
    {.kind = Kind::kLlc,
     .chips = k310,
     .rate = kMemoryRate,
     .modes = kCacheModes310,
     .absent = "the 310 counts its cache with a perf script on the device, not through a driver channel"},
    {Kind::kPcie, kEvery & ~(k310 | k310B), {{{kPcieChannel, file::kPcie}}}, kLinkRate},
    {Kind::kHccs, kEvery & ~(k310 | k310B), {{{kHccsChannel, file::kHccs}}}, kLinkRate},
    {Kind::kNic, kEvery & ~k310P, {{{channel::kNic, file::kNic}}}, kPortRate},
    {.kind = Kind::kRoce,
     .chips = kEvery & ~(k310 | k310P | k310B),
     .wanted = {{{channel::kRoce, file::kRoce}}},
     .rate = kPortRate,
     .one_slice = true},
    {Kind::kNetdev, kEvery & ~(k310 | k310P | k310B), {{{channel::kPortCounters, file::kNetdev}}}, kPortRate},
    {.kind = Kind::kDvpp, .chips = k310 | k910, .wanted = {{kDvppOld}}, .rate = kDvppRate, .one_slice = true},
    {.kind = Kind::kDvpp,
     .chips = k310P,
     .wanted = {{kVenc, kJpege, kVdec, kJpegd, kVpc, kPng, kScd}},
     .rate = kDvppRate,
     .one_slice = true},
    {.kind = Kind::kDvpp,
     .chips = kStars | kOther,
     .wanted = {{kVenc, kJpege, kVdec, kJpegd, kVpc, kPng, kScd, kDvppOld}},
     .rate = kDvppRate,
     .one_slice = true},
    {Kind::kNpuMem, kEvery, {{{channel::kNpuMem, file::kNpuMem}}}, kMemoryRate},
    {Kind::kNpuAppMem, kEvery, {{{channel::kNpuAppMem, file::kNpuAppMem}}}, kMemoryRate},
    {Kind::kNpuModuleMem, kEvery, {{{channel::kNpuModuleMem, file::kNpuModuleMem}}}, kMemoryRate},
    {Kind::kQos, k910B | kOther, {{{channel::kQos, file::kQos}}}, kMemoryRate, kQosModes},
    {Kind::kQos, k950, {{{channel::kQos, file::kQos}}}, kFineMemoryRate, kQosModes},
    {Kind::kSocProfile, k310B | k910B | kOther, {{{channel::kSocProfile, file::kSocProfile}}}, kMemoryRate},
    {Kind::kSocProfile,
     k950,
     {{{channel::kSocProfile, file::kSocProfile}}},
     kFineMemoryRate,
     kSocProfileModes950},
    {Kind::kLowPower, k910B, {{{channel::kLowPower, file::kPower}}}, kNoRate},
    {Kind::kLowPower, kEvery & ~(k310 | k910 | k910B), {{{channel::kLowPower, file::kFrequencies}}}, kNoRate},
    {Kind::kUb, k950 | kOther, {{{kUbChannel, file::kUb}}}, kPortRate},
    {.kind = Kind::kCcu,
     .chips = k950 | kOther,
     .wanted = {{{channel::kCcu0Channels, file::kCcu0Channels},
                 {channel::kCcu1Channels, file::kCcu1Channels}}},
     .needs_job = true},
    {.kind = Kind::kCcuTask,
     .chips = k950 | kOther,
     .wanted = {{{channel::kCcu0Missions, file::kCcu0Missions},
                 {channel::kCcu1Missions, file::kCcu1Missions}}},
     .needs_job = true},
    {Kind::kTsCpu, kEvery, {{{channel::kTsCpu, file::kTsCpu}}}, kCpuRate},
    OfProcess(Kind::kDevCpu, format::DeviceFile::kSystemCpu, kSystemRate),
    OfProcess(Kind::kDevMem, format::DeviceFile::kSystemMemory, kSystemRate),
    OfProcess(Kind::kDevPidCpu, format::DeviceFile::kProcessCpu, kSystemRate),
    OfProcess(Kind::kDevPidMem, format::DeviceFile::kProcessMemory, kSystemRate),
    OfProcess(Kind::kCtrlCpu, format::DeviceFile::kCpuProfile, kCpuRate),
    WithoutProcess(Kind::kDevCpu, kSystemRate),
    WithoutProcess(Kind::kDevMem, kSystemRate),
    WithoutProcess(Kind::kDevPidCpu, kSystemRate),
    WithoutProcess(Kind::kDevPidMem, kSystemRate),
    WithoutProcess(Kind::kCtrlCpu, kCpuRate),
    {Kind::kAiCore, k310B, {{kCoreSampleUse}}, kCoreRate, kCoreModes310B},
    {Kind::kAiCore, k910B, {{kCoreSampleUse}}, kCoreRate, kCoreModes910B},
    {Kind::kAiCore, k950, {{kCoreSampleUse}}, kCoreRate, kCoreModes950},
    {Kind::kAiCore, kOther, {{kCoreSampleUse}}, kCoreRate, kCoreModesOfOthers},
    {Kind::kAiCore, k310 | k910 | k310P, {{kAiCoreUse}}, kCoreRate, kCoreModes},
    {Kind::kAiCore, kOther, {{kAiCoreUse}}, kCoreRate, kCoreModesOfOthers},
    {Kind::kAiVector, k310B, {{kCoreSampleUse}}, kCoreRate, kCoreModes310B},
    {Kind::kAiVector, k910B, {{kCoreSampleUse}}, kCoreRate, kCoreModes910B},
    {Kind::kAiVector, k950, {{kCoreSampleUse}}, kCoreRate, kCoreModes950},
    {Kind::kAiVector, kOther, {{kCoreSampleUse}}, kCoreRate, kCoreModesOfOthers},
    {Kind::kAiVector, kOther, {{kAiVectorUse}}, kCoreRate, kCoreModesOfOthers},
    ByTask(Kind::kAiCoreTask, k310B, kCoreTaskUse, kCoreModes310B),
    ByTask(Kind::kAiCoreTask, k910B, kCoreTaskUse, kCoreModes910B),
    ByTask(Kind::kAiCoreTask, k950, kCoreTaskUse, kCoreModes950),
    ByTask(Kind::kAiCoreTask, kOther, kCoreTaskUse, kCoreModesOfOthers),
    ByTask(Kind::kAiCoreTask, k310 | k910 | k310P, kAiCoreUse, kCoreModes),
    ByTask(Kind::kAiCoreTask, kOther, kAiCoreUse, kCoreModesOfOthers),
    ByTask(Kind::kAiVectorTask, k310B, kCoreTaskUse, kCoreModes310B),
    ByTask(Kind::kAiVectorTask, k910B, kCoreTaskUse, kCoreModes910B),
    ByTask(Kind::kAiVectorTask, k950, kCoreTaskUse, kCoreModes950),
    ByTask(Kind::kAiVectorTask, kOther, kCoreTaskUse, kCoreModesOfOthers),
    ByTask(Kind::kAiVectorTask, kOther, kAiVectorUse, kCoreModesOfOthers),
    {.kind = Kind::kSocPmu,
     .chips = k910B | k950,
     .wanted = {{{channel::kSocPmu, file::kSocPmu}}},
     .modes = kSocModes,
     .needs_job = true},
    {.kind = Kind::kSocPmu, .chips = kOther, .modes = kSocModes, .absent = kUnknownEvents},
    // Where both are there the vendor counts hits of the cache with those of the translation.
    {.kind = Kind::kL2,
     .chips = k910B | k950,
     .wanted = {{{channel::kSocPmu, file::kSocPmu}}},
     .needs_job = true},
    {.kind = Kind::kL2,
     .chips = kEvery & ~(k310 | kOther),
     .wanted = {{{channel::kL2Cache, file::kL2Cache}}},
     .needs_job = true},
    {.kind = Kind::kL2, .chips = kOther, .absent = kUnknownEvents},
    {.kind = Kind::kAiCpu,
     .chips = kEvery & ~k310,
     .wanted = {{{channel::kAiCpu, file::kAiCpu}, {channel::kCustomAiCpu, file::kAiCpu}}},
     .rate = kNoRate,
     .late = true},
    {.kind = Kind::kTask,
     .chips = k310,
     .wanted = {{kTrackUse}},
     .rate = kNoRate,
     .modes = kTaskModes,
     .needs_job = true},
    {.kind = Kind::kTask,
     .chips = k910 | k310P,
     .wanted = {{kTrackUse, {channel::kTaskLog, file::kTaskLog}}},
     .rate = kNoRate,
     .modes = kTaskModes,
     .needs_job = true},
    {.kind = Kind::kTask,
     .chips = k310B | k910B | kOther,
     .wanted = {{{channel::kStarsLog, file::kStarsLog}, kTrackUse}},
     .rate = kNoRate,
     .modes = kTaskModesOfStars,
     .needs_job = true},
    {.kind = Kind::kTask,
     .chips = k950,
     .wanted = {{{channel::kStarsLog, file::kStarsLog}, kTrackUse}},
     .rate = kNoRate,
     .modes = kTaskModes950,
     .needs_job = true},
    {.kind = Kind::kInstr, .chips = k910B | kOther, .modes = kInstrModes, .needs_job = true},
    {.kind = Kind::kInstr, .chips = k950, .needs_job = true},
    {.kind = Kind::kAiCpu,
     .chips = k310,
     .rate = kNoRate,
     .absent = "the 310 sends AI CPU records over its message link (HDC), not through a driver channel"},
};

constexpr uint32_t kStartOrder[] = {
    channel::kDdr,
    channel::kHbm,
    channel::kLlc,
    channel::kAiCore,
    channel::kAiVector,
    kDvppVencChannel,
    kDvppJpegeChannel,
    kDvppVdecChannel,
    kDvppJpegdChannel,
    kDvppVpcChannel,
    kDvppPngChannel,
    kDvppScdChannel,
    kDvppChannel,
    channel::kNic,
    kPcieChannel,
    kHccsChannel,
    kUbChannel,
    channel::kRoce,
    channel::kPortCounters,
    channel::kNpuAppMem,
    channel::kNpuMem,
    channel::kNpuModuleMem,
    channel::kLowPower,
    channel::kQos,
    channel::kAiCpu,
    channel::kCustomAiCpu,
    channel::kTsCpu,
    channel::kTaskTrack,
    channel::kTaskLog,
    channel::kCcu0Missions,
    channel::kCcu1Missions,
    channel::kCcu0Channels,
    channel::kCcu1Channels,
    channel::kSocPmu,
    channel::kL2Cache,
    channel::kStarsLog,
    channel::kSocProfile,
    channel::kCoreTask,
    channel::kCoreSample,
    channel::kDeviceSystem,
};

// The channels that a row wants of a device: those of the table, or one per core.
std::vector<ChannelUse> WantedOf(const Capability& row, const DeviceFacts& device) {
  if (row.kind == Kind::kInstr) return InstrChannels(device);
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
  if (device.counter_mhz <= 0)
    return "the driver reports neither a known chip nor the speed of the device's counter, so its records "
           "cannot "
           "be dated: see the driver's log";
  if (capability.kind == Kind::kQos && device.qos.empty()) return "the driver names no QoS streams";
  const bool of_cores = capability.kind == Kind::kAiCore || capability.kind == Kind::kInstr;
  if (of_cores && device.ai_core_num <= 0) return "the driver reports no AI cores";
  if (capability.kind == Kind::kAiVector && device.aiv_num <= 0) return "the driver reports no vector cores";
  if (capability.kind == Kind::kAiCpu || capability.device_file) {
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

const Capability* AnyCapability(Kind kind) {
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

Offer LookUp(Kind kind, const DeviceFacts& device, uint32_t api_version) {
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
    offer.reason = "a " + ChipName(device.chip) + " has no " + std::string(NameOf(kind));
  } else if (!offer.capability->absent.empty()) {
    offer.reason = offer.capability->absent;
  } else if (device.status == kCommunicationLost) {
    offer.reason = DeviceName(device) + " has lost communication with the host";
  } else if (device.channels.empty() && !device.error.empty()) {
    offer.reason = DeviceName(device) + ": " + device.error;
  } else if (offer.channels.empty() && kind == Kind::kNetdev) {
    offer.reason = device.no_cards.empty() ? DeviceName(device) + " has no network port" : device.no_cards;
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
