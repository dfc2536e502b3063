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

constexpr DecoderEntry OfHost(std::string_view file, std::string_view kind, MakeDecoder* make) {
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
constexpr StreamFormat kHbmV2 = FormatV2<HbmRecordV2>("hbm.data", kDeviceNs, offsetof(HbmRecordV2, wall_ns),
                                                      PlausibleV2<HbmRecordV2, &HbmRecordV2::wall_ns>);
constexpr StreamFormat kLlcV2 = FormatV2<LlcRecordV2>("llc.data", kDeviceNs, offsetof(LlcRecordV2, wall_ns),
                                                      PlausibleV2<LlcRecordV2, &LlcRecordV2::wall_ns>);
constexpr StreamFormat kNpuMemV2 = FormatV2<NpuMemRecordV2>(
    "npu_mem.data", kStartUs64, offsetof(NpuMemRecordV2, time_us), PlausibleV2<NpuMemRecordV2, nullptr>);

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
          .kind = "dvpp",
          .by = By::kLine,
          .stamp = kTextDeviceNs,
          .vendor_chips = kNobody,
          .only_without = "dvpp.data",
          .make = MakeDvpp};
}

// Files of many groups and cores, by what is the same in their names.
constexpr std::string_view kInstrAiCore = "instr.group_aic", kInstrVectorCore = "instr.group_aiv",
                           kInstrOf950 = "instr.biu_perf_group";
std::string_view WithoutGroup(std::string_view file) {
  if (file.starts_with(kInstrOf950)) return kInstrOf950;
  if (!file.starts_with("instr.group_")) return file;
  return file.ends_with("_aic") ? kInstrAiCore : kInstrVectorCore;
}

constexpr DecoderEntry kEntries[] = {
    {.file = "hbm.data",
     .kind = "hbm",
     .stamp = kStartUs64,
     .format_v2 = &kHbmV2,
     .in_order = true,
     .make = MakeHbm},
    {.file = "ddr.data",
     .kind = "ddr",
     .stamp = kStartUs32,
     .vendor_chips = kVendorDdr,
     .in_order = true,
     .make = MakeDdr},
    {.file = "llc.data",
     .kind = "llc",
     .by = By::kLine,
     .stamp = kStartUs64,
     .layout_chips = k310,
     .make = MakeLlcText},
    {.file = "llc.data",
     .kind = "llc",
     .stamp = kStartUs64,
     .layout_chips = ~k310,
     .format_v2 = &kLlcV2,
     .in_order = true,
     .make = MakeLlc},
    {.file = "npu_mem.app",
     .kind = "npu-app-mem",
     .stamp = kStartUs32,
     .vendor_chips = kVendorNpuMem,
     .format_v2 = &kNpuMemV2,
     .in_order = true,
     .make = MakeNpuMem},
    {.file = "npu_mem.data",
     .kind = "npu-mem",
     .stamp = kStartUs32,
     .vendor_chips = kVendorNpuMem,
     .format_v2 = &kNpuMemV2,
     .in_order = true,
     .make = MakeNpuMem},
    {.file = "npu_module_mem.data",
     .kind = "npu-module-mem",
     .stamp = kHostCounter,
     .vendor_chips = ~k310,
     .make = MakeNpuModuleMem},
    {.file = "pcie.data",
     .kind = "pcie",
     .stamp = kDeviceNs,
     .vendor_chips = kVendorPcie,
     .in_order = true,
     .make = MakePcie},
    {.file = "hccs.data",
     .kind = "hccs",
     .by = By::kLine,
     .stamp = kTextDeviceNs,
     .vendor_chips = kVendorHccs,
     .make = MakeHccs},
    {.file = "nic.data",
     .kind = "nic",
     .by = By::kLine,
     .stamp = kTextDeviceNs,
     .vendor_chips = kVendorNic,
     .make = MakeNic},
    {.file = "roce.data",
     .kind = "roce",
     .by = By::kLine,
     .stamp = kTextDeviceNs,
     .vendor_chips = kVendorRoce,
     .vendor_reads_last_slice_only = true,
     .make = MakeRoce},
    {.file = "netdev_stats.data",
     .kind = "netdev",
     .by = By::kLine,
     .vendor_chips = kVendorNetdev,
     .make = MakeNetdev},
    {.file = "dvpp.data",
     .kind = "dvpp",
     .by = By::kLine,
     .stamp = kTextDeviceNs,
     .vendor_chips = kVendorDvpp,
     .vendor_reads_last_slice_only = true,
     .make = MakeDvpp},
    DvppEngine("dvpp.vdec"),
    DvppEngine("dvpp.jpegd"),
    DvppEngine("dvpp.png"),
    DvppEngine("dvpp.jpege"),
    DvppEngine("dvpp.vpc"),
    DvppEngine("dvpp.venc"),
    DvppEngine("dvpp.scd"),
    {.file = "lpmFreqConv.data",
     .kind = "low-power",
     .stamp = kDeviceTicks,
     .vendor_chips = kVendorFreq,
     .only_without = "lpmInfoConv.data",
     .make = MakeLowPower},
    {.file = "lpmInfoConv.data",
     .kind = "low-power",
     .stamp = kDeviceTicks,
     .vendor_chips = k910B,
     .make = MakeLowPower},
    {.file = "qos.data",
     .kind = "qos",
     .stamp = kDeviceTicks,
     .vendor_chips = k910B,
     .in_order = true,
     .make = MakeQos},
    {.file = "ub.data", .kind = "ub", .stamp = kStartUs64, .vendor_chips = k950, .make = MakeUb},
    {.file = "stars_soc_profile.data",
     .kind = "soc-profile",
     .stamp = kDeviceTicks,
     .vendor_chips = kWithBothCores,
     .make = MakeStars},
    {.file = "aicore.data",
     .kind = "aicore",
     .stamp = kDeviceNs,
     .vendor_chips = kBeforeStars,
     .make = MakeCores},
    {.file = "aiVectorCore.data",
     .kind = "aivector",
     .stamp = kDeviceNs,
     .vendor_chips = k310PLike,
     .make = MakeCores},
    {.file = "ffts_profile.data",
     .kind = "aicore",
     .stamp = kDeviceNs,
     .vendor_chips = kWithBothCores,
     .make = MakeCores},
    {.file = kInstrAiCore, .kind = "instr", .vendor_chips = kVendorInstr, .make = MakeInstrOfAiCore},
    {.file = kInstrVectorCore, .kind = "instr", .vendor_chips = kVendorInstr, .make = MakeInstrOfVectorCore},
    {.file = kInstrOf950,
     .kind = "instr",
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeInstrEvents},
    {.file = "socpmu.data",
     .kind = "soc-pmu",
     .vendor_chips = kVendorSocPmu,
     .of_tasks = true,
     .make = MakeSocPmu},
    {.file = "l2_cache.data", .kind = "l2", .vendor_chips = kVendorL2, .of_tasks = true, .make = MakeL2Cache},
    {.file = "ccu0.instr",
     .kind = "ccu-task",
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeCcuMissions},
    {.file = "ccu1.instr",
     .kind = "ccu-task",
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeCcuMissions},
    {.file = "ccu0.stat",
     .kind = "ccu",
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeCcuChannels},
    {.file = "ccu1.stat",
     .kind = "ccu",
     .stamp = kDeviceTicks,
     .vendor_chips = k950,
     .make = MakeCcuChannels},
    {.file = "ts_track.data",
     .kind = "step-trace",
     .by = By::kUnits,
     .stamp = kDeviceTicks,
     .make = MakeStepTrace},
    {.file = "ts_track.aiv_data",
     .kind = "step-trace",
     .by = By::kUnits,
     .stamp = kDeviceTicks,
     .make = MakeStepTrace},
    // Device OS. Blocks of lines.
    {.file = "SystemCpuUsage.data",
     .kind = "dev-cpu",
     .by = By::kLine,
     .stamp = kDeviceNs,
     .make = MakeCpuUsage},
    {.file = "Memory.data", .kind = "dev-mem", .by = By::kLine, .stamp = kDeviceNs, .make = MakeSysMem},
    {.file = "-CpuUsage.data",
     .kind = "dev-pid-cpu",
     .by = By::kLine,
     .stamp = kDeviceNs,
     .make = MakeProcessCpu},
    {.file = "-Memory.data",
     .kind = "dev-pid-mem",
     .by = By::kLine,
     .stamp = kDeviceNs,
     .make = MakeProcessMem},
    {.file = "ai_ctrl_cpu.data", .kind = "ctrlcpu", .by = By::kLine, .make = MakePerfSamples},
    {.file = "tscpu.data",
     .kind = "tscpu",
     .stamp = kDeviceTicks,
     .vendor_chips = kVendorTsCpu,
     .make = MakeTsCpu},
    OfHost("host_cpu.data", "host-cpu", MakeHostCpu),
    OfHost("host_mem.data", "host-mem", MakeHostMem),
    OfHost("host_disk.data", "host-disk", MakeHostDisk),
    OfHost("host_network.data", "host-network", MakeHostNetwork),
    OfHost("host_sys_cpu.data", "host-sys-cpu", MakeCpuUsage),
    OfHost("host_sys_mem.data", "host-sys-mem", MakeSysMem),
    OfHost("-CpuUsage.data", "host-pid-cpu", MakeProcessCpu),
    OfHost("-Memory.data", "host-pid-mem", MakeProcessMem),
    OfHost("host_syscall.data", "host-syscall", MakeSyscalls),
    OfHost("host_pthreadcall.data", "host-pthread", MakePthreadCalls),
    OfHost("host_cgroup.data", "host-cgroup", MakeHostCounters),
    OfHost("host_net_devices.data", "host-net-devices", MakeHostCounters),
    OfHost("host_hardware.data", "host-hardware", MakeHostCounters),
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
