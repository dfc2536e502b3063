#include "format/decode/catalogue.h"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <vector>

#include "format/decode/family.h"
#include "format/decode/framing.h"

// A new family: its file, and a line here.
#define PROFD_FAMILIES(FAMILY) \
  FAMILY(Hbm)                  \
  FAMILY(Memory)               \
  FAMILY(Llc)                  \
  FAMILY(Links)                \
  FAMILY(Ports)                \
  FAMILY(Dvpp)                 \
  FAMILY(Soc)                  \
  FAMILY(LowPower)             \
  FAMILY(Ccu)                  \
  FAMILY(Cores)                \
  FAMILY(Instr)                \
  FAMILY(TaskCounters)         \
  FAMILY(TaskLog)              \
  FAMILY(AiCpu)                \
  FAMILY(StepTrace)            \
  FAMILY(Pmu)                  \
  FAMILY(OsBlocks)             \
  FAMILY(HostCpu)              \
  FAMILY(HostIo)               \
  FAMILY(OsCalls)              \
  FAMILY(HostCounters)

namespace profd::format {

namespace family {
#define PROFD_DECLARE(Name) Family Name();
PROFD_FAMILIES(PROFD_DECLARE)
}  // namespace family

using enum StampDomain;

namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// What is the same in the names of all groups and cores: of "instr.group_3_aic", "instr.biu_perf_group0_aic".
std::string_view WithoutGroup(std::string_view file) {
  if (!file.starts_with("instr.")) return file;
  if (!file.starts_with("instr.group_")) return file.substr(0, file.find_first_of("0123456789"));
  return file.ends_with("_aic") ? file::kInstrAiCore : file::kInstrVectorCore;
}

}  // namespace

std::span<const Family> Families() {
#define PROFD_LIST(Name) family::Name(),
  static const Family kFamilies[] = {PROFD_FAMILIES(PROFD_LIST)};
  return kFamilies;
}

std::string_view RowName(std::string_view file) {
  const size_t digits = std::min(file.find_first_not_of("0123456789"), file.size());
  if (digits > 0 && digits < file.size() && file[digits] == '-') file.remove_prefix(digits);
  return WithoutGroup(file);
}

std::span<const DecoderEntry> DecoderEntries() {
  static const std::vector<DecoderEntry> kAll = [] {
    std::vector<DecoderEntry> all;
    for (const Family& family : Families())
      all.insert(all.end(), family.decoders.begin(), family.decoders.end());
    return all;
  }();
  return kAll;
}

const DecoderEntry* FindDecoder(std::string_view file, const SideFacts& side, int64_t& pid) {
  pid = 0;
  // "4711-Memory.data" is that of a process.
  const auto [end, error] = std::from_chars(file.data(), file.data() + file.size(), pid);
  const bool of_process =
      error == std::errc() && IsDigit(file[0]) && end != file.data() + file.size() && *end == '-';
  if (!of_process) pid = 0;
  file = RowName(file);
  for (const DecoderEntry& entry : DecoderEntries()) {
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

const Series* FindSeries(std::string_view name) {
  for (const Family& family : Families()) {
    for (const Series* series : family.series) {
      if (series->name == name) return series;
    }
  }
  return nullptr;
}

bool VendorReads(const DecoderEntry& entry, Chip chip) { return entry.vendor_chips.Has(chip); }

}  // namespace profd::format
