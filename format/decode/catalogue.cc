#include "format/decode/catalogue.h"

#include <algorithm>
#include <charconv>
#include <cstddef>

#include "format/decode/device_decoders.h"
#include "format/decode/host_decoders.h"
#include "format/framing.h"
#include "format/records/device.h"
#include "format/records/packed.h"

namespace profd::format {

namespace {

using By = DecoderEntry::By;
using enum StampDomain;

constexpr DecoderEntry OfHost(std::string_view file, Kind kind, MakeDecoder* make) {
  return {.file = file, .kind = kind, .of_host = true, .by = By::kLine, .make = make};
}

// Record version 2.0. Wall clock ns between 2001 and 2096, or what version 1 has.
template <typename Record, uint64_t Record::*kWall>
uint32_t PlausibleV2(const std::byte* data, uint32_t records, uint32_t) {
  constexpr uint64_t kLeast = 1'000'000'000'000'000'000, kMost = 4'000'000'000'000'000'000;
  constexpr uint32_t kMostEvents = 64, kMostIds = 64;
  uint32_t good = 0;
  for (; good < records; ++good) {
    const auto record = Load<Record>(data + size_t{good} * sizeof(Record));
    if constexpr (kWall != nullptr) {
      if (record.*kWall < kLeast || record.*kWall > kMost) break;
    }
    if (record.event >= kMostEvents) break;
    if constexpr (requires { record.hbm_id; }) {
      if (record.hbm_id >= kMostIds || record.event > 1) break;
    } else if constexpr (requires { record.llc_id; }) {
      if (record.llc_id >= kMostIds) break;
    } else if (record.event > 1 || record.time_us == 0 || record.time_us >> 50 != 0) {
      break;
    }
  }
  return good;
}

template <typename Record>
constexpr StreamFormat FormatV2(std::string_view file, StampDomain stamp, size_t stamp_offset,
                                decltype(StreamFormat::plausible) plausible) {
  StreamFormat format;
  format.file = file;
  format.record_bytes = sizeof(Record);
  format.stamp = stamp;
  format.stamp_offset = static_cast<uint32_t>(stamp_offset);
  format.plausible = plausible;
  return format;
}
constexpr StreamFormat kHbmV2 = FormatV2<HbmRecordV2>(file::kHbm, kDeviceNs, offsetof(HbmRecordV2, wall_ns),
                                                      PlausibleV2<HbmRecordV2, &HbmRecordV2::wall_ns>);
constexpr StreamFormat kLlcV2 = FormatV2<LlcRecordV2>(file::kLlc, kDeviceNs, offsetof(LlcRecordV2, wall_ns),
                                                      PlausibleV2<LlcRecordV2, &LlcRecordV2::wall_ns>);
constexpr StreamFormat kNpuMemV2 = FormatV2<NpuMemRecordV2>(
    file::kNpuMem, kStartUs64, offsetof(NpuMemRecordV2, time_us), PlausibleV2<NpuMemRecordV2, nullptr>);

constexpr ChipSet k310 = Only({Chip::k310}), k910B = Only({Chip::k910B}), k310PLike = Families({Chip::k310P});
constexpr ChipSet k310BLike = Families({Chip::k310B}), k950 = Families({Chip::k950});
constexpr ChipSet kBeforeStars = ChipsWith([](const ChipTraits& traits) { return !traits.stars; });
constexpr ChipSet kWithBothCores =
    ChipsWith([](const ChipTraits& traits) { return traits.has_both_cores(); });
// Whose files the vendor's parser reads, where it's not all of them.
constexpr ChipSet kVendorDdr = kBeforeStars | k310BLike;
constexpr ChipSet kVendorPcie = kBeforeStars | k910B | k950;
constexpr ChipSet kVendorHccs = kBeforeStars | k910B;
constexpr ChipSet kVendorNic = Only({Chip::k310, Chip::k910, Chip::k910B}) | k310BLike;
constexpr ChipSet kVendorRoce = Only({Chip::k310, Chip::k910, Chip::k910B});
constexpr ChipSet kVendorDvpp = kVendorNic | k950;
constexpr ChipSet kVendorNetdev = kBeforeStars | k910B | k310BLike;
constexpr ChipSet kVendorNpuMem = (kBeforeStars & ~Only({Chip::kMdc})) | kWithBothCores;
constexpr ChipSet kVendorFreq = Only({Chip::k910B, Chip::k310B}) | k950;
constexpr ChipSet kVendorInstr = k910B | k310BLike;
constexpr ChipSet kVendorL2 = (kBeforeStars & ~k310) | kWithBothCores;
constexpr ChipSet kVendorSocPmu = k910B | k950;
constexpr ChipSet kVendorTsCpu = kVendorNetdev;
constexpr ChipSet kNobody = {};

// One driver channel per engine; the vendor's parser has no name for these files.
constexpr DecoderEntry DvppEngine(std::string_view file) {
  return {.file = file,
          .kind = Kind::kDvpp,
          .by = By::kLine,
          .stamp = kTextDeviceNs,
          .vendor_chips = kNobody,
          .only_without = file::kDvpp,
          .make = MakeDvpp};
}

// "instr.group_3_aic" → what is the same in the names of all groups and cores.
std::string_view WithoutGroup(std::string_view file) {
  if (file.starts_with(file::kInstrOf950)) return file::kInstrOf950;
  if (!file.starts_with("instr.group_")) return file;
  return file.ends_with("_aic") ? file::kInstrAiCore : file::kInstrVectorCore;
}

constexpr DecoderEntry kEntries[] = {
    {.file = file::kHbm,
     .kind = Kind::kHbm,
     .stamp = kStartUs64,
     .format_v2 = &kHbmV2,
     .in_order = true,
     .make = MakeHbm},
    {.file = file::kDdr,
     .kind = Kind::kDdr,
     .stamp = kStartUs32,
     .vendor_chips = kVendorDdr,
     .in_order = true,
     .make = MakeDdr},
    {.file = file::kLlc,
     .kind = Kind::kLlc,
     .by = By::kLine,
     .stamp = kStartUs64,
     .layout_chips = k310,
     .make = MakeLlcText},
    {.file = file::kLlc,
     .kind = Kind::kLlc,
     .stamp = kStartUs64,
     .layout_chips = ~k310,
     .format_v2 = &kLlcV2,
     .in_order = true,
     .make = MakeLlc},
    {.file = file::kNpuAppMem,
     .kind = Kind::kNpuAppMem,
     .stamp = kStartUs32,
     .vendor_chips = kVendorNpuMem,
     .format_v2 = &kNpuMemV2,
     .in_order = true,
     .make = MakeNpuMem},
    {.file = file::kNpuMem,
     .kind = Kind::kNpuMem,
     .stamp = kStartUs32,
     .vendor_chips = kVendorNpuMem,
     .format_v2 = &kNpuMemV2,
     .in_order = true,
     .make = MakeNpuMem},
    {.file = file::kNpuModuleMem,
     .kind = Kind::kNpuModuleMem,
     .stamp = kHostCounter,
     .vendor_chips = ~k310,
     .make = MakeNpuModuleMem},
    {.file = file::kPcie,
     .kind = Kind::kPcie,
     .stamp = kDeviceNs,
     .vendor_chips = kVendorPcie,
     .in_order = true,
     .make = MakePcie},
    {.file = file::kHccs,
     .kind = Kind::kHccs,
     .by = By::kLine,
     .stamp = kTextDeviceNs,
     .vendor_chips = kVendorHccs,
     .make = MakeHccs},
    {.file = file::kNic,
     .kind = Kind::kNic,
     .by = By::kLine,
     .stamp = kTextDeviceNs,
     .vendor_chips = kVendorNic,
     .make = MakeNic},
    {.file = file::kRoce,
     .kind = Kind::kRoce,
     .by = By::kLine,
     .stamp = kTextDeviceNs,
     .vendor_chips = kVendorRoce,
     .vendor_reads_last_slice_only = true,
     .make = MakeRoce},
    {.file = file::kNetdev,
     .kind = Kind::kNetdev,
     .by = By::kLine,
     .vendor_chips = kVendorNetdev,
     .make = MakeNetdev},
    {.file = file::kDvpp,
     .kind = Kind::kDvpp,
     .by = By::kLine,
     .stamp = kTextDeviceNs,
     .vendor_chips = kVendorDvpp,
     .vendor_reads_last_slice_only = true,
     .make = MakeDvpp},
    DvppEngine(file::kVdec),
    DvppEngine(file::kJpegd),
    DvppEngine(file::kPng),
    DvppEngine(file::kJpege),
    DvppEngine(file::kVpc),
    DvppEngine(file::kVenc),
    DvppEngine(file::kScd),
    {.file = file::kFrequencies,
     .kind = Kind::kLowPower,
     .stamp = kDeviceTicks,
     .vendor_chips = kVendorFreq,
     .only_without = file::kPower,
     .make = MakeLowPower},
    {.file = file::kPower,
     .kind = Kind::kLowPower,
     .stamp = kDeviceTicks,
     .vendor_chips = k910B,
     .make = MakeLowPower},
    {.file = file::kQos,
     .kind = Kind::kQos,
     .stamp = kDeviceTicks,
     .vendor_chips = k910B,
     .in_order = true,
     .make = MakeQos},
    {.file = file::kUb, .kind = Kind::kUb, .stamp = kStartUs64, .vendor_chips = k950, .make = MakeUb},
    {.file = file::kSocProfile,
     .kind = Kind::kSocProfile,
     .stamp = kDeviceTicks,
     .vendor_chips = kWithBothCores,
     .make = MakeStars},
    {.file = file::kAiCore,
     .kind = Kind::kAiCore,
     .stamp = kDeviceNs,
     .vendor_chips = kBeforeStars,
     .make = MakeCores},
    {.file = file::kVectorCore,
     .kind = Kind::kAiVector,
     .stamp = kDeviceNs,
     .vendor_chips = k310PLike,
     .make = MakeCores},
    {.file = file::kBothCores,
     .kind = Kind::kAiCore,
     .stamp = kDeviceNs,
     .vendor_chips = kWithBothCores,
     .make = MakeCores},
    {.file = file::kInstrAiCore,
     .kind = Kind::kInstr,
     .vendor_chips = kVendorInstr,
     .make = MakeInstrOfAiCore},
    {.file = file::kInstrVectorCore,
     .kind = Kind::kInstr,
     .vendor_chips = kVendorInstr,
     .make = MakeInstrOfVectorCore},
    {.file = file::kInstrOf950,
     .kind = Kind::kInstr,
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeInstrEvents},
    {.file = file::kSocPmu,
     .kind = Kind::kSocPmu,
     .vendor_chips = kVendorSocPmu,
     .of_tasks = true,
     .make = MakeSocPmu},
    {.file = file::kL2Cache,
     .kind = Kind::kL2,
     .vendor_chips = kVendorL2,
     .of_tasks = true,
     .make = MakeL2Cache},
    {.file = file::kCcu0Missions,
     .kind = Kind::kCcuTask,
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeCcuMissions},
    {.file = file::kCcu1Missions,
     .kind = Kind::kCcuTask,
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeCcuMissions},
    {.file = file::kCcu0Channels,
     .kind = Kind::kCcu,
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeCcuChannels},
    {.file = file::kCcu1Channels,
     .kind = Kind::kCcu,
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeCcuChannels},
    {.file = file::kTaskTrack,
     .kind = Kind::kStepTrace,
     .by = By::kUnits,
     .stamp = kDeviceTicks,
     .make = MakeStepTrace},
    {.file = file::kVectorTaskTrack,
     .kind = Kind::kStepTrace,
     .by = By::kUnits,
     .stamp = kDeviceTicks,
     .make = MakeStepTrace},
    // Device OS. Blocks of lines.
    {.file = file::kSystemCpu,
     .kind = Kind::kDevCpu,
     .by = By::kLine,
     .stamp = kDeviceNs,
     .make = MakeCpuUsage},
    {.file = file::kSystemMemory,
     .kind = Kind::kDevMem,
     .by = By::kLine,
     .stamp = kDeviceNs,
     .make = MakeSysMem},
    {.file = file::kProcessCpu,
     .kind = Kind::kDevPidCpu,
     .by = By::kLine,
     .stamp = kDeviceNs,
     .make = MakeProcessCpu},
    {.file = file::kProcessMemory,
     .kind = Kind::kDevPidMem,
     .by = By::kLine,
     .stamp = kDeviceNs,
     .make = MakeProcessMem},
    {.file = file::kCpuSamples, .kind = Kind::kCtrlCpu, .by = By::kLine, .make = MakePerfSamples},
    {.file = file::kTsCpu,
     .kind = Kind::kTsCpu,
     .stamp = kDeviceTicks,
     .vendor_chips = kVendorTsCpu,
     .make = MakeTsCpu},
    OfHost(file::kHostCpu, Kind::kHostCpu, MakeHostCpu),
    OfHost(file::kHostMem, Kind::kHostMem, MakeHostMem),
    OfHost(file::kHostDisk, Kind::kHostDisk, MakeHostDisk),
    OfHost(file::kHostNetwork, Kind::kHostNetwork, MakeHostNetwork),
    OfHost(file::kHostSysCpu, Kind::kHostSysCpu, MakeCpuUsage),
    OfHost(file::kHostSysMem, Kind::kHostSysMem, MakeSysMem),
    OfHost(file::kProcessCpu, Kind::kHostPidCpu, MakeProcessCpu),
    OfHost(file::kProcessMemory, Kind::kHostPidMem, MakeProcessMem),
    OfHost(file::kHostOsrt, Kind::kHostOsrt, MakeSyscalls),
    OfHost(file::kHostPthread, Kind::kHostPthread, MakePthreadCalls),
    OfHost(file::kHostCgroup, Kind::kHostCgroup, MakeHostCounters),
    OfHost(file::kHostNetDevices, Kind::kHostNetDevices, MakeHostCounters),
    OfHost(file::kHostHardware, Kind::kHostHardware, MakeHostCounters),
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::span<const DecoderEntry> DecoderEntries() { return kEntries; }

const DecoderEntry* FindDecoder(std::string_view file, const SideFacts& side, int64_t& pid) {
  pid = 0;
  // "4711-Memory.data" is that of a process.
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), pid);
  const bool of_process =
      error == std::errc() && IsDigit(file[0]) && end != file.data() + file.size() && *end == '-';
  if (of_process) file.remove_prefix(static_cast<size_t>(end - file.data()));
  if (!of_process) pid = 0;
  file = WithoutGroup(file);
  for (const DecoderEntry& entry : kEntries) {
    const bool of_side = entry.of_host == (side.device < 0) && entry.layout_chips.Has(side.chip);
    if (entry.file == file && of_side) return &entry;
  }
  return nullptr;
}

const StreamFormat* RecordFormat(const DecoderEntry& entry, std::string_view file, const SideFacts& side,
                                 bool& checks) {
  checks = true;
  if (side.records_v2 && entry.format_v2 != nullptr) return entry.format_v2;
  const StreamFormat* format = FindStreamFormat(file, side.chip, side.cores_by_task);
  if (format == nullptr || format->framing != Framing::kFixed || format->record_bytes == 0) return nullptr;
  // A stamp near 0 passes for damage, unless the clock was there when the collection began.
  constexpr uint64_t kYoungNs = 2'000'000'000, kYoungTicks = 1u << 25;
  const ClockPair& start = side.at_start;
  if (format->stamp == kDeviceNs) checks = start.device_raw_ns > kYoungNs;
  if (format->stamp == kDeviceTicks) checks = start.device_counter > kYoungTicks;
  if (format->stamp == kHostCounter) {
    checks = (side.host_counter_mhz > 0 ? start.host_counter : start.host_raw_ns) > kYoungNs;
  }
  return format;
}

uint64_t StampsPerSecond(const StreamFormat& format, const SideFacts& side) {
  switch (format.stamp) {
    case kStartUs64:
    case kStartUs32:
      return 1'000'000;
    case kDeviceNs:
      return 1'000'000'000;
    case kDeviceTicks:
      return static_cast<uint64_t>(side.counter_mhz * 1e6);
    case kNone:
    case kHostCounter:
    case kTextDeviceNs:
      break;
  }
  return 0;
}

bool NeedsChip(const DecoderEntry& entry, std::string_view file, const SideFacts& side) {
  return entry.layout_chips != kEveryChip || DiffersByChip(file, side.cores_by_task);
}

bool VendorReads(const DecoderEntry& entry, Chip chip) { return entry.vendor_chips.Has(chip); }

}  // namespace profd::format
