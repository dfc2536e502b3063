// CPUs, memory and processes of a device's own system, or of the host.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <string>

#include "client/export/views/views.h"
#include "client/export/write/number_text.h"
#include "format/decode/host/cpu_classes.h"

namespace profd::client {

namespace {

using Entry = KeyedStats::Entry;

// "Cpu_cycles"
std::string Capitalized(std::string_view name) {
  std::string text(name);
  for (size_t i = 1; i < text.size(); ++i)
    text[i] = static_cast<char>(std::tolower(static_cast<unsigned char>(text[i])));
  return text;
}

std::string_view PmuCpuName(int64_t cpu) {
  switch (static_cast<format::PmuCpu>(cpu)) {
    case format::PmuCpu::kHost:
      return "host_cpu";
    case format::PmuCpu::kCtrlCpu:
      return "ctrl_cpu";
    case format::PmuCpu::kAiCpu:
      return "ai_cpu";
    case format::PmuCpu::kTsCpu:
      return "ts_cpu";
  }
  return "cpu";
}

// Most counted first.
std::vector<const Entry*> ByCount(const KeyedStats& stats) {
  auto entries = stats.InOrder();
  std::stable_sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return a->device == b->device && a->keys[0] == b->keys[0] && a->stats[0].sum > b->stats[0].sum;
  });
  return entries;
}

void WriteCpuUsage(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv =
      context.folder.Open("cpu_usage", "Device_id,Cpu Type,User(%),Sys(%),IoWait(%),Irq(%),Soft(%),Idle(%)");
  if (csv == nullptr) return;
  const size_t ticks = stats.Column("ticks");
  auto entries = stats.Sorted();
  // AI CPUs first.
  std::stable_sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return a->device == b->device && a->keys[0] > b->keys[0];
  });
  for (const Entry* entry : entries) {
    const auto of = static_cast<format::CpuClass>(entry->keys[0]);
    csv->Device(entry->device);
    csv->Text(of == format::CpuClass::kHost ? "host" : of == format::CpuClass::kAiCpu ? "aicpu" : "ctrlcpu");
    for (size_t i = 0; i < 6; ++i) csv->Rounded(100 * entry->stats[i].weighted / entry->stats[ticks].sum);
    csv->End();
  }
}

void WriteProcessCpu(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("process_cpu_usage", "Device_id,PID,Name,CPU(%)");
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    csv->Device(entry->device);
    csv->Int(entry->keys[0]);
    csv->Text(entry->labels[0]);
    csv->Rounded(100 * entry->stats[0].weighted / entry->stats[1].sum);
    csv->End();
  }
}

void WriteSysMem(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      "sys_mem",
      "Device_id,Memory Total(kB),Memory Free(kB),Buffers(kB),Cached(kB),Share Memory(kB),Commit Limit(kB),"
      "Committed AS(kB),Huge Pages Total(pages),Huge Pages Free(pages)");
  if (csv == nullptr) return;
  constexpr size_t kPages = 7;
  for (const Entry* entry : stats.Sorted()) {
    csv->Device(entry->device);
    for (size_t i = 0; i < entry->stats.size(); ++i) {
      csv->Trimmed(std::floor(entry->stats[i].Mean() / (i < kPages ? kBytesPerKb : 1)));
    }
    csv->End();
  }
}

void WriteProcessMem(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv =
      context.folder.Open("process_mem", "Device_id,PID,Name,Size(pages),Resident(pages),Shared(pages)");
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    csv->Device(entry->device);
    csv->Int(entry->keys[0]);
    csv->Text(entry->labels[0]);
    for (const Stat& pages : entry->stats) csv->Trimmed(std::floor(pages.Mean()));
    csv->End();
  }
}

void WritePmuEvents(const KeyedStats& stats, const CsvContext& context) {
  for (const Entry* entry : ByCount(stats)) {
    if (!(entry->stats[0].sum > 0)) continue;  // asked for, but never seen
    const std::string kind = std::string(PmuCpuName(entry->keys[0])) + "_pmu_events";
    CsvFile* csv = context.folder.Open(kind, "Device_id,Event,Name,Count");
    if (csv == nullptr) return;
    const std::string_view name = CpuEventName(entry->keys[1]);
    csv->Device(entry->device);
    csv->Text(HexText(entry->keys[1]));
    name.empty() ? csv->Na() : csv->Text(Capitalized(name));
    csv->Trimmed(entry->stats[0].sum);
    csv->End();
  }
}

void WritePmuFunctions(const KeyedStats& stats, const CsvContext& context) {
  constexpr int kVendorTsFunctions = 5;
  std::map<std::pair<int, int64_t>, double> totals;
  std::map<std::pair<int, int64_t>, int> rows;
  for (const Entry* entry : stats.Sorted()) totals[{entry->device, entry->keys[0]}] += entry->stats[0].sum;
  for (const Entry* entry : ByCount(stats)) {
    const bool ts = entry->keys[0] == static_cast<int64_t>(format::PmuCpu::kTsCpu);
    const std::pair of(entry->device, entry->keys[0]);
    if (ts && context.vendor_compatible && ++rows[of] > kVendorTsFunctions) continue;
    const std::string kind = std::string(PmuCpuName(entry->keys[0])) + "_top_function";
    CsvFile* csv = context.folder.Open(
        kind, ts ? "Device_id,Function,Cycles,Cycles(%)" : "Device_id,Function,Module,Cycles,Cycles(%)");
    if (csv == nullptr) return;
    csv->Device(entry->device);
    csv->Text(entry->labels[1]);
    if (!ts) csv->Text(entry->labels[2]);
    csv->Trimmed(entry->stats[0].sum);
    csv->Rounded(100 * entry->stats[0].sum / totals[of]);
    csv->End();
  }
}

const CounterTable kCounters[] = {
    {"cpu_usage",
     Layer::kOther,
     {{"{class:OS|Control CPU|AI CPU} usage",
       {{"User(%)", "user", kPercent},
        {"Sys(%)", "sys", kPercent},
        {"IoWait(%)", "iowait", kPercent},
        {"Idle(%)", "idle", kPercent}}}},
     true},
    {"process_cpu", Layer::kOther, {{"CPU of {pid}", {{"Usage(%)", "usage", kPercent}}}}, true},
    {"sys_mem",
     Layer::kOther,
     {{"Memory", {{"Free(KB)", "free", kKb}, {"Cached(KB)", "cached", kKb}}}},
     true},
    {"process_mem", Layer::kOther, {{"Memory of {pid}", {{"Resident(pages)", "resident"}}}}, true},
};

const KeyedSeries kKeyed[] = {
    {.series = "cpu_usage", .weight = "ticks", .write = WriteCpuUsage},
    {.series = "process_cpu", .weight = "ticks", .write = WriteProcessCpu},
    {.series = "sys_mem", .write = WriteSysMem},
    {.series = "process_mem", .write = WriteProcessMem},
    {.series = "pmu_events", .write = WritePmuEvents},
    {.series = "pmu_functions", .write = WritePmuFunctions},
};

const DbTable kDbTables[] = {
    {"OS_CPU_USAGE",
     "cpu_usage",
     {kDevice,
      kStamp,
      {"cpuType", "INTEGER", "@text:{class:host|ctrlcpu|aicpu}"},
      {"user", "NUMERIC", "user", kPercent},
      {"sys", "NUMERIC", "sys", kPercent},
      {"ioWait", "NUMERIC", "iowait", kPercent},
      {"irq", "NUMERIC", "irq", kPercent},
      {"soft", "NUMERIC", "soft", kPercent},
      {"idle", "NUMERIC", "idle", kPercent}},
     false},
    {"OS_MEMORY",
     "sys_mem",
     {kDevice,
      kStamp,
      {"total", "INTEGER", "total", 1, kWhole},
      {"free", "INTEGER", "free", 1, kWhole},
      {"buffers", "INTEGER", "buffers", 1, kWhole},
      {"cached", "INTEGER", "cached", 1, kWhole},
      {"shared", "INTEGER", "shared", 1, kWhole},
      {"commitLimit", "INTEGER", "commit_limit", 1, kWhole},
      {"committed", "INTEGER", "committed", 1, kWhole},
      {"hugePagesTotal", "INTEGER", "huge_total", 1, kWhole},
      {"hugePagesFree", "INTEGER", "huge_free", 1, kWhole}},
     false},
    {"PROCESS_CPU_USAGE",
     "process_cpu",
     {kDevice,
      kStamp,
      {"pid", "INTEGER", "@key:pid"},
      {"name", "INTEGER", "@text:{pid}"},
      {"usage", "NUMERIC", "usage", kPercent}},
     false},
    {"PROCESS_MEMORY",
     "process_mem",
     {kDevice,
      kStamp,
      {"pid", "INTEGER", "@key:pid"},
      {"name", "INTEGER", "@text:{pid}"},
      {"sizePages", "INTEGER", "size", 1, kWhole},
      {"residentPages", "INTEGER", "resident", 1, kWhole},
      {"sharedPages", "INTEGER", "shared", 1, kWhole}},
     false},
    {"CPU_PMU_EVENTS",
     "pmu_events",
     {kDevice,
      {"cpuType", "INTEGER", "@text:{cpu:host|ctrlcpu|aicpu|tscpu}"},
      {"event", "INTEGER", "@key:event"},
      {"count", "INTEGER", "count", 1, kWhole}},
     false},
};

constexpr About kAbout[] = {
    {"ai_cpu_pmu_events", "counters of the device's AI CPUs, summed"},
    {"ai_cpu_top_function", "functions that ran most on the device's AI CPUs"},
    {"cpu_usage", "use of the CPUs of the device's own system"},
    {"ctrl_cpu_pmu_events", "counters of the device's control CPUs, summed"},
    {"ctrl_cpu_top_function", "functions that ran most on the device's control CPUs"},
    {"process_cpu_usage", "CPU use of the processes on the device's own system, or on the host"},
    {"process_mem", "memory of the processes on the device's own system, or on the host"},
    {"sys_mem", "memory of the device's own system, or of the host"},
    {"ts_cpu_pmu_events", "counters of the task scheduler's CPU, summed"},
    {"ts_cpu_top_function", "functions that ran most on the task scheduler's CPU"},
};

}  // namespace

namespace views {
Views System() { return {.counters = kCounters, .keyed = kKeyed, .tables = kDbTables, .about = kAbout}; }
}  // namespace views

}  // namespace profd::client
