#include "daemon/session/plan/estimate.h"

#include <algorithm>
#include <string_view>

namespace profd::session {

namespace {

using format::Chip;
using format::ChipSet;
constexpr ChipSet kAnyChip = format::kEveryChip;

// What one tick brings where that is not one record (or what the format says), or text. Counts are those of
// the vendor's layouts as the simulator has them, bytes those of lines of counters in use.
struct Sample {
  std::string_view file;
  ChipSet chips = kAnyChip;  // of a file the first row that has the chip
  double records = 1;
  double bytes = 0;  // of a record; 0: the format's
};
constexpr Sample kSamples[] = {
    {"ddr.data", kAnyChip, 4},
    {"llc.data", format::Only({Chip::k910B}), 16},
    {"llc.data", format::Only({Chip::k310B}), 8},
    {"llc.data", kAnyChip, 32},
    {"hccs.data", kAnyChip, 1, 44},
    {"nic.data", kAnyChip, 1, 100},
    {"roce.data", kAnyChip, 1, 120},
    {"netdev_stats.data", kAnyChip, 1, 150},
    {"dvpp.data", kAnyChip, 7, 65},
    {"dvpp.", format::Only({Chip::k310P}), 1, 65},
    {"dvpp.", kAnyChip, 2, 65},
    {"npu_module_mem.data", kAnyChip, 4},
    {"stars_soc_profile.data", format::Families({Chip::k950}), 15},
    {"stars_soc_profile.data", format::Only({Chip::k310B}), 5},
    {"stars_soc_profile.data", kAnyChip, 9},
    {"ub.data", kAnyChip, 2},
};

// Rows of the host: what they always have, and what each unit adds.
struct HostRow {
  std::string_view kind;
  double bytes = 0;
  double process = 0, thread = 0, cpu = 0, interface = 0;
};
constexpr HostRow kHostRows[] = {
    {.kind = "host-cpu", .bytes = 30, .thread = 315},
    {.kind = "host-mem", .bytes = 45},
    {.kind = "host-disk", .process = 65},
    {.kind = "host-network", .bytes = 20, .interface = 125},
    {.kind = "host-sys-cpu", .bytes = 85, .cpu = 46},
    {.kind = "host-sys-mem", .bytes = 1550},
    {.kind = "host-pid-cpu", .process = 425},
    {.kind = "host-pid-mem", .process = 95},
    {.kind = "host-cgroup", .bytes = 210},
    {.kind = "host-net-devices", .bytes = 20, .interface = 38},
    {.kind = "host-hardware", .bytes = 100},
};

constexpr struct {
  std::string_view kind;
  uint32_t bytes;
} kRecords[] = {
    {"host-cpu-profile", 140}, {"host-off-cpu", 36}, {"host-osrt", 80},  {"host-pthread", 80},
    {"agent-range", 64},       {"agent-mark", 32},   {"agent-step", 64}, {"agent-counter", 32},
    {"agent-kernel", 96},      {"agent-comm", 192},  {"agent-api", 96},  {"agent-memory", 192},
    {"host-pid-cpu", 425},     {"host-pid-mem", 95},
};

double CoresOf(const std::vector<std::string_view>& kinds, const driver::DeviceFacts& device) {
  const auto count = [&kinds](std::string_view kind, int64_t cores) {
    return std::ranges::find(kinds, kind) == kinds.end() ? 0.0
                                                         : static_cast<double>(std::max<int64_t>(cores, 0));
  };
  return count("aicore", device.ai_core_num) + count("aivector", device.aiv_num);
}

}  // namespace

double ChannelSampleBytes(const ChannelStart& start, const std::vector<std::string_view>& kinds,
                          const driver::DeviceFacts& device) {
  const double record = start.format->record_bytes;
  if (const double cores = CoresOf(kinds, device); cores > 0) return cores * record;
  for (const Sample& sample : kSamples) {
    const bool is_file =
        sample.file.ends_with('.') ? start.file.starts_with(sample.file) : start.file == sample.file;
    if (!is_file || !sample.chips.Has(device.chip)) continue;
    return sample.records * (sample.bytes > 0 ? sample.bytes : record);
  }
  return record * std::max(start.format->records_per_period, 1U);
}

double HostSampleBytes(std::string_view kind, const HostUnits& units) {
  const auto* const row = std::ranges::find(kHostRows, kind, &HostRow::kind);
  if (row == std::end(kHostRows)) return 0;
  const auto each = [](double bytes, uint64_t count) { return bytes * static_cast<double>(count); };
  return row->bytes + each(row->process, units.processes) + each(row->thread, units.threads) +
         each(row->cpu, units.cpus) + each(row->interface, units.interfaces);
}

double DeviceFileSampleBytes(format::DeviceFile what) {
  constexpr double kProcesses = 3;  // of a device
  switch (what) {
    case format::DeviceFile::kSystemCpu:
      return 390;
    case format::DeviceFile::kSystemMemory:
      return 1420;
    case format::DeviceFile::kProcessCpu:
      return kProcesses * 200;
    case format::DeviceFile::kProcessMemory:
      return kProcesses * 92;
    case format::DeviceFile::kCpuProfile:
      break;
  }
  return 590;
}

uint32_t RecordBytes(std::string_view kind, const format::StreamFormat* format) {
  for (const auto& row : kRecords) {
    if (row.kind == kind) return row.bytes;
  }
  return format == nullptr ? 0 : format->record_bytes;
}

}  // namespace profd::session
