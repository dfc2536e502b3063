// CPUs, memory and processes of the host and of a device's own OS.
#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <map>

#include "client/export/views/csv_writers.h"
#include "client/export/write/number_text.h"
#include "format/decode/host_series.h"

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

std::string_view UnitName(format::Unit unit) {
  switch (unit) {
    case format::Unit::kBytes:
      return "(B)";
    case format::Unit::kBytesPerSecond:
      return "(B/s)";
    case format::Unit::kPerSecond:
      return "(1/s)";
    case format::Unit::kHz:
      return "(Hz)";
    case format::Unit::kNs:
      return "(ns)";
    default:
      return "";
  }
}

// Most counted first.
std::vector<const Entry*> ByCount(const KeyedStats& stats) {
  auto entries = stats.InOrder();
  std::stable_sort(entries.begin(), entries.end(), [](const Entry* a, const Entry* b) {
    return a->device == b->device && a->keys[0] == b->keys[0] && a->stats[0].sum > b->stats[0].sum;
  });
  return entries;
}

// Peak, and what is enough in 98 % of the samples with 20 % in reserve.
void PeakAndRecommended(CsvFile* csv, const Stat& stat, Quantile& quantile, double scale, int digits) {
  const double values[] = {stat.max / scale, quantile.At(0.98) / scale / 0.8};
  for (const double value : values) digits < 0 ? csv->Shortest(value) : csv->Rounded(value, digits);
}

}  // namespace

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

void WriteHostCpu(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      "host_cpu_usage", "Device_id,Total Cpu Numbers,Occupied Cpu Numbers,Recommend Cpu Numbers");
  if (csv == nullptr) return;
  int occupied = 0, used = 0;
  for (const Entry* entry : stats.Sorted()) {
    if (entry->keys[0] < 0) continue;
    ++occupied;
    used += entry->stats[0].max > 0;
  }
  csv->Device(-1);
  csv->Int(context.facts.host.cpu_nums);
  csv->Int(occupied);
  csv->Int(used);
  csv->End();
}

void WriteHostMem(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("host_mem_usage",
                                     "Device_id,Total Memory(KB),Peak Used Memory(KB),Recommend Memory(KB)");
  if (csv == nullptr) return;
  const auto entries = stats.Sorted();
  const double total = static_cast<double>(context.facts.host.memory_total_kb);
  csv->Device(-1);
  csv->Int(context.facts.host.memory_total_kb);
  // Through a percentage of six decimals.
  const auto kb = [&](double usage) { return Rounded(usage * 100, 6) * total / 100; };
  csv->Rounded(kb(entries.front()->stats[0].max));
  csv->Rounded(kb(context.quantiles->front().At(0.98)) / 0.8);
  csv->End();
}

void WriteHostDisk(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv =
      context.folder.Open("host_disk_usage",
                          "Device_id,Peak Disk Read(KB/s),Recommend Disk Read(KB/s),Peak Disk Write(KB/s),"
                          "Recommend Disk Write(KB/s)");
  if (csv == nullptr) return;
  const auto entries = stats.Sorted();
  csv->Device(-1);
  for (size_t i = 0; i < 2; ++i) {
    PeakAndRecommended(csv, entries.front()->stats[i], (*context.quantiles)[i], kBytesPerKb, -1);
  }
  csv->End();
}

void WriteHostPort(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      "host_port_usage", "Device_id,Port,Peak Rx(KB/s),Average Rx(KB/s),Peak Tx(KB/s),Average Tx(KB/s)");
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    csv->Device(-1);
    csv->Text(entry->labels[0]);
    for (const Stat& rate : entry->stats) {
      csv->Rounded(rate.max / kBytesPerKb);
      csv->Rounded(rate.Mean() / kBytesPerKb);
    }
    csv->End();
  }
}

void WriteHostNetwork(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open(
      "host_network_usage", "Device_id,Netcard Speed(KB/s),Peak Used Speed(KB/s),Recommend Speed(KB/s)");
  if (csv == nullptr) return;
  double speed = 0;
  for (const format::HostFacts::NetCard& card : context.facts.host.net_cards)
    speed += static_cast<double>(card.speed_mbps);
  csv->Device(-1);
  csv->Shortest(speed * 1e6 / 8 / kBytesPerKb);
  PeakAndRecommended(csv, stats.Sorted().front()->stats[stats.Column("speed")], context.quantiles->front(),
                     kBytesPerKb, -1);
  csv->End();
}

void WriteMeansAndPeaks(const format::Series& series, const KeyedStats& stats, const CsvContext& context) {
  std::string header = "Device_id," + std::string(series.keys.front());
  for (const format::SeriesColumn& column : series.columns) {
    const std::string name = "," + std::string(column.name);
    const std::string unit(UnitName(column.unit));
    header += name + " mean" + unit;
    header += name + " peak" + unit;
  }
  CsvFile* csv = context.folder.Open(series.name, header);
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    csv->Device(entry->device);
    csv->Text(entry->labels[0]);
    for (const Stat& stat : entry->stats) {
      csv->Trimmed(stat.Mean());
      csv->Trimmed(stat.count == 0 ? kNoNumber : stat.max);
    }
    csv->End();
  }
}

}  // namespace profd::client
