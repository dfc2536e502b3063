// AI cores, sampled, and the 310's last level cache.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "client/export/views/core_samples.h"
#include "client/export/views/csv_writers.h"

namespace profd::client {

namespace {

using Entry = KeyedStats::Entry;

// By core and on the average.
void WriteCores(bool vector, const KeyedStats& stats, const CsvContext& context) {
  for (const DeviceCores& of : SampledCores(vector, stats, context.facts)) {
    std::string header = "Device_id,Core ID";
    for (const CoreMetric& metric : of.metrics) header += "," + metric.name;
    CsvFile* csv = context.folder.Open(vector ? "ai_vector_core_utilization" : "ai_core_utilization", header);
    if (csv == nullptr) return;
    std::vector<double> sums(of.metrics.size());
    for (const DeviceCores::Core& core : of.cores) {
      csv->Device(of.device);
      csv->Text("Core" + std::to_string(core.number));
      for (size_t i = 0; i < core.values.size(); ++i) {
        sums[i] += core.values[i];
        csv->Rounded(core.values[i], 6);
      }
      csv->End();
    }
    csv->Device(of.device);
    csv->Text("Average");
    for (const double sum : sums) csv->Rounded(sum / static_cast<double>(of.cores.size()), 6);
    csv->End();
  }
}

}  // namespace

void WriteAllCores(const KeyedStats& stats, const CsvContext& context) {
  WriteCores(false, stats, context);
  WriteCores(true, stats, context);
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

}  // namespace profd::client
