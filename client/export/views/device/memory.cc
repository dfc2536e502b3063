// Memory and caches of a device.
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

namespace profd::client {

namespace {

using Entry = KeyedStats::Entry;

void WriteHbm(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("hbm", "Device_id,Metric,Read(MB/s),Write(MB/s)");
  if (csv == nullptr) return;
  EachDevice(stats.Sorted(), [&](int device, std::span<const Entry* const> entries) {
    std::map<int64_t, std::array<double, 2>> by_id;
    for (const Entry* entry : entries) {
      auto [row, is_new] = by_id.try_emplace(entry->keys[0], std::array{format::kNoValue, format::kNoValue});
      row->second[entry->keys[1] != 0] = entry->stats[0].Mean() / kBytesPerMb;
    }
    csv->Device(device);
    csv->Text("Average");
    for (size_t way = 0; way < 2; ++way) {
      double sum = 0;
      bool any = false;
      for (const auto& [id, rates] : by_id) {
        if (std::isnan(rates[way])) continue;
        any = true;
        sum += rates[way];
      }
      csv->Fixed(any ? sum / static_cast<double>(by_id.size()) : format::kNoValue);
    }
    csv->End();
    for (const auto& [id, rates] : by_id) {
      csv->Device(device);
      csv->Int(id);
      csv->Rounded(rates[0]);
      csv->Rounded(rates[1]);
      csv->End();
    }
  });
}

void WriteDdr(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("ddr", "Device_id,Metric,Read(MB/s),Write(MB/s)");
  if (csv == nullptr) return;
  for (const Entry* entry : stats.Sorted()) {
    csv->Device(entry->device);
    csv->Text("Average");
    for (const Stat& way : entry->stats) csv->Rounded(way.Mean() / kBytesPerMb);
    csv->End();
  }
}

void WriteLlc(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("llc_read_write", "Device_id,Mode,Task,Hit Rate(%),Throughput(MB/s)");
  if (csv == nullptr) return;
  const double scale = context.vendor_compatible ? 64 / kBytesPerMb : 1 / kBytesPerMb;
  EachDevice(stats.Sorted(), [&](int device, std::span<const Entry* const> entries) {
    const char* mode = entries.front()->keys[1] != 0 ? "write" : "read";
    double hits = 0, rates = 0;
    for (const Entry* entry : entries) {
      hits += entry->stats[0].Mean() * 100;
      rates += entry->stats[1].Mean() * scale;
    }
    const auto row = [&](double hit_rate, double throughput) {
      csv->Rounded(hit_rate);
      csv->Rounded(throughput);
      csv->End();
    };
    const auto count = static_cast<double>(entries.size());
    csv->Device(device), csv->Text(mode), csv->Text("Average");
    row(hits / count, rates / count);
    for (const Entry* entry : entries) {
      csv->Device(device), csv->Text(mode), csv->Int(entry->keys[0]);
      row(entry->stats[0].Mean() * 100, entry->stats[1].Mean() * scale);
    }
  });
}

// The 310's: capacity used, by CPU. The vendor adds all samples up.
void WriteLlcCapacity(const KeyedStats& stats, const CsvContext& context) {
  for (const bool ai : {false, true}) {
    EachDevice(stats.Sorted(), [&](int device, std::span<const Entry* const> entries) {
      std::vector<double> values;
      std::string header = "Device_id,Metric";
      for (const Entry* entry : entries) {
        if ((entry->keys[1] != 0) != ai) continue;
        const Stat& stat = entry->stats[0];
        header += ",CPU" + std::to_string(values.size()) + "(KB)";
        values.push_back((context.vendor_compatible ? stat.sum : stat.Mean()) / kBytesPerKb);
      }
      CsvFile* csv = values.empty()
                         ? nullptr
                         : context.folder.Open(ai ? "llc_aicpu" : "llc_ctrlcpu", header + ",Total(KB)");
      if (csv == nullptr) return;
      csv->Device(device);
      csv->Text("Used Capacity of LLC");
      for (const double value : values) csv->Rounded(value);
      csv->Rounded(std::accumulate(values.begin(), values.end(), 0.0));
      csv->End();
    });
  }
}

void WriteLlcBandwidth(const KeyedStats& stats, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("llc_bandwidth", "Device_id,Metric,l3c_rd,l3c_wr");
  if (csv == nullptr) return;
  constexpr double kLineBytes = 64;
  for (const Entry* entry : stats.Sorted()) {
    const double seconds = static_cast<double>(entry->last_ns - entry->first_ns) / 1e9;
    const auto sum = [&](size_t column) { return entry->stats[column].sum; };
    const auto rate = [&](double lines) {
      return seconds > 0 ? lines * kLineBytes / kBytesPerMb / seconds : 0;
    };
    const auto row = [&](std::string_view name, double read, double write) {
      csv->Device(entry->device);
      csv->Text(name);
      csv->Rounded(read);
      csv->Rounded(write);
      csv->End();
    };
    const double reads = sum(0) + sum(1), writes = sum(3) + sum(4);
    row("BandWidth(MB/s)", rate(reads), rate(writes));
    row("Hit_Rate(%)", reads > 0 ? 100 * sum(2) / reads : 0, writes > 0 ? 100 * sum(5) / writes : 0);
    row("Hit_BandWidth(MB/s)", rate(sum(2)), rate(sum(5)));
  }
}

// Chips of the vendor's newer exporter print whole numbers as such.
void Kilobytes(CsvFile* csv, const CsvContext& context, int device, double bytes) {
  const format::SideFacts* side = context.facts.Device(device);
  const bool newer = side != nullptr && format::TraitsOf(side->chip).newer_exporter;
  newer ? csv->Trimmed(bytes / kBytesPerKb) : csv->Rounded(bytes / kBytesPerKb);
}

void WriteNpuMem(const format::RowBatch& batch, const CsvContext& context) {
  CsvFile* csv = context.folder.Open("npu_mem", "Device_id,event,ddr(KB),hbm(KB),memory(KB),timestamp(us)");
  if (csv == nullptr) return;
  for (size_t row = 0; row < batch.rows(); ++row) {
    const double ddr = batch.values[2 * row], hbm = batch.values[2 * row + 1];
    csv->Device(batch.device);
    csv->Text(batch.keys[row] != 0 ? "Device" : "APP");
    for (const double bytes : {ddr, hbm, ddr + hbm}) Kilobytes(csv, context, batch.device, bytes);
    csv->Stamp(batch.wall_ns[row]);
    csv->End();
  }
}

std::string_view ModuleName(int64_t module) {
  for (const DbEnum& names : DbEnums()) {
    if (names.table != "ENUM_MODULE") continue;
    for (const auto& [number, name] : names.names) {
      if (number == module) return name;
    }
  }
  return {};
}

void WriteNpuModuleMem(const format::RowBatch& batch, const CsvContext& context) {
  CsvFile* csv =
      context.folder.Open("npu_module_mem", "Device_id,Component,Timestamp(us),Total Reserved(KB),Device");
  if (csv == nullptr) return;
  const std::string device = "NPU:" + std::to_string(batch.device);
  for (size_t row = 0; row < batch.rows(); ++row) {
    const std::string_view name = ModuleName(batch.keys[row]);
    csv->Device(batch.device);
    name.empty() ? csv->Int(batch.keys[row]) : csv->Text(name);
    csv->Stamp(batch.wall_ns[row]);
    Kilobytes(csv, context, batch.device, batch.values[row]);
    csv->Text(device);
    csv->End();
  }
}

const CounterTable kCounters[] = {
    {"hbm", Layer::kHbm, {{"HBM {id}/{write:Read|Write}", {{"{write:Read|Write}(MB/s)", "bandwidth", kMb}}}}},
    {"ddr",
     Layer::kDdr,
     {{.name = "DDR/Read",
       .args = {{"Read(MB/s)", "read", kMb}},
       .vendor_copies = 2,
       .copies_of_older = true},
      {"DDR/Write", {{"Write(MB/s)", "write", kMb}}}}},
    {"llc",
     Layer::kLlc,
     {{"LLC {id} {write:Read|Write}/Hit Rate",
       {{.name = "Hit Rate(%)", .source = "hit_rate", .scale = kPercent, .vendor_scale = 1}}},
      {"LLC {id} {write:Read|Write}/Throughput",
       {{.name = "Throughput(MB/s)", .source = "throughput", .scale = kMb, .vendor_scale = 64 * kMb}}}}},
    {"llc_capacity", Layer::kLlc, {{"Core {cpu}", {{"Capacity(MB)", "capacity", kMb}}}}},
    {"npu_mem",
     Layer::kNpuMemory,
     {{"{device:APP|Device}/DDR", {{"KB", "ddr", kKb}}},
      {"{device:APP|Device}/HBM", {{"KB", "hbm", kKb}}},
      {"{device:APP|Device}/Memory", {{"KB", "ddr+hbm", kKb}}}}},
    {"qos",
     Layer::kQos,
     {{.name = "QoS {stream}",
       .args = {{.name = "value",
                 .source = "bandwidth",
                 .scale = kMb,
                 .form = kInteger,
                 .older_name = "bandwidth(MB/s)"}},
       .when = "die=-1"},
      // A 950's: one event for all dies.
      {.name = "QoS {stream}",
       .args = {{"die {die}", "bandwidth", kMb, kInteger}},
       .when = "die!=-1",
       .joined = true}}},
    {"npu_module_mem", Layer::kOther, {{"Module {module}", {{"KB", "reserved", kKb}}}}, true},
    {"llc_bandwidth",
     Layer::kOther,
     {{"LLC {id} hits", {{"Read", "read_hit"}, {"Write", "write_hit"}}}},
     true},
};

const KeyedSeries kKeyed[] = {
    {.series = "hbm", .write = WriteHbm},
    {.series = "ddr", .write = WriteDdr},
    {.series = "llc", .write = WriteLlc},
    {.series = "llc_capacity", .write = WriteLlcCapacity},
    {.series = "llc_bandwidth", .write = WriteLlcBandwidth},
};

constexpr RowSeries kRows[] = {
    {"npu_mem", WriteNpuMem},
    {"npu_module_mem", WriteNpuModuleMem},
};

const DbTable kDbTables[] = {
    {"HBM",
     "hbm",
     {kDevice,
      kStamp,
      {"bandwidth", "NUMERIC", "bandwidth", 1, kWhole},
      {"hbmId", "INTEGER", "@key:id"},
      {"type", "INTEGER", "@text:{write:read|write}"}}},
    {"DDR",
     "ddr",
     {kDevice, kStamp, {"read", "NUMERIC", "read", 1, kWhole}, {"write", "NUMERIC", "write", 1, kWhole}}},
    {"LLC",
     "llc",
     {kDevice,
      {"llcId", "INTEGER", "@key:id"},
      kStamp,
      {"hitRate", "REAL", "hit_rate", kPercent},
      {"throughput", "INTEGER", "throughput", 1, kWhole, 64},
      {"mode", "INTEGER", "@text:{write:read|write}"}}},
    {"NPU_MEM",
     "npu_mem",
     {{"type", "INTEGER", "@text:{device:app|device}"},
      {"ddr", "NUMERIC", "ddr", 1, kWhole},
      {"hbm", "NUMERIC", "hbm", 1, kWhole},
      kStamp,
      kDevice}},
    {"NPU_MODULE_MEM",
     "npu_module_mem",
     {{"moduleId", "INTEGER", "@key:module"},
      kStamp,
      {"totalReserved", "NUMERIC", "reserved", 1, kWhole},
      kDevice}},
    {"QOS",
     "qos",
     {kDevice,
      {"eventName", "NUMERIC", "@text:QoS {stream}"},
      {"bandwidth", "NUMERIC", "bandwidth", 1, kWhole},
      kStampNumeric,
      {"dieId", "NUMERIC", "@key:die"}}},
};

constexpr About kAbout[] = {
    {"ddr", "bandwidth of DDR memory: mean of the collection"},
    {"hbm", "bandwidth of HBM memory: mean of the collection"},
    {"llc_bandwidth", "bandwidth of the last-level cache"},
    {"llc_read_write", "hit rate and throughput of the last-level cache: mean of the collection"},
    {"npu_mem", "memory of the device in use, by process and in all, over time"},
    {"npu_module_mem", "memory of the device that CANN's components hold, over time"},
};

}  // namespace

namespace views {
Views Memory() {
  return {.counters = kCounters, .keyed = kKeyed, .rows = kRows, .tables = kDbTables, .about = kAbout};
}
}  // namespace views

}  // namespace profd::client
