#include "daemon/session/plan/estimate.h"

#include <algorithm>
#include <string_view>

#include "format/decode/units.h"

namespace profd::session {

namespace {

using format::Kind;

// Rows of the host: what they always have, and what each unit adds.
struct HostRow {
  Kind kind;
  double bytes = 0;
  double process = 0, thread = 0, cpu = 0, interface = 0;
};
constexpr HostRow kHostRows[] = {
    {.kind = Kind::kHostCpu, .bytes = 30, .thread = 315},
    {.kind = Kind::kHostMem, .bytes = 45},
    {.kind = Kind::kHostDisk, .process = 65},
    {.kind = Kind::kHostNetwork, .bytes = 20, .interface = 125},
    {.kind = Kind::kHostSysCpu, .bytes = 85, .cpu = 46},
    {.kind = Kind::kHostSysMem, .bytes = 1550},
    {.kind = Kind::kHostPidCpu, .process = 425},
    {.kind = Kind::kHostPidMem, .process = 95},
    {.kind = Kind::kHostCgroup, .bytes = 210},
    {.kind = Kind::kHostNetDevices, .bytes = 20, .interface = 38},
    {.kind = Kind::kHostHardware, .bytes = 100},
};

constexpr struct {
  Kind kind;
  uint32_t bytes;
} kRecords[] = {
    {Kind::kHostCpuProfile, 140}, {Kind::kHostOffCpu, 36}, {Kind::kHostOsrt, 80},  {Kind::kHostPthread, 80},
    {Kind::kAgentRange, 64},      {Kind::kAgentMark, 32},  {Kind::kAgentStep, 64}, {Kind::kAgentCounter, 32},
    {Kind::kAgentKernel, 96},     {Kind::kAgentComm, 192}, {Kind::kAgentApi, 96},  {Kind::kAgentMemory, 192},
    {Kind::kHostPidCpu, 425},     {Kind::kHostPidMem, 95},
};

double CoresOf(const format::KindList& kinds, const driver::DeviceFacts& device) {
  const auto count = [&kinds](Kind kind, int64_t cores) {
    return kinds.Has(kind) ? static_cast<double>(std::max<int64_t>(cores, 0)) : 0.0;
  };
  return count(Kind::kAiCore, device.ai_core_num) + count(Kind::kAiVector, device.aiv_num);
}

}  // namespace

double ChannelSampleBytes(const ChannelStart& start, const format::KindList& kinds,
                          const driver::DeviceFacts& device) {
  const double cores = CoresOf(kinds, device);
  return cores > 0 ? cores * start.format->record_bytes : format::TickBytes(*start.format, device.chip);
}

double HostSampleBytes(Kind kind, const HostUnits& units) {
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

uint32_t RecordBytes(Kind kind, const format::StreamFormat* format) {
  for (const auto& row : kRecords) {
    if (row.kind == kind) return row.bytes;
  }
  return format == nullptr ? 0 : format->record_bytes;
}

}  // namespace profd::session
