// AI cores, sampled, and the 310's last level cache.
#include <algorithm>
#include <iterator>
#include <numeric>

#include "client/export/core_metrics.h"
#include "client/export/csv_writers.h"

namespace profd::client {

namespace {

using Entry = KeyedStats::Entry;

// Parts of the cycles, by core and on the average.
void WriteCores(bool vector, const KeyedStats& stats, const CsvContext& context) {
  constexpr uint32_t kCacheRequests = 0x54, kCacheMisses = 0x55;
  constexpr std::string_view kPipes[] = {"vec_ratio",  "mac_ratio",  "scalar_ratio",
                                         "mte1_ratio", "mte2_ratio", "mte3_ratio"};
  EachDevice(stats.Sorted(), [&](int device, std::span<const Entry* const> entries) {
    const format::SideFacts* side = context.facts.Device(device);
    if (side == nullptr) return;
    const std::vector<uint32_t>& events = vector ? side->aiv_events : side->aic_events;
    std::vector<std::string> names;
    for (const uint32_t event : events) names.push_back(CoreMetricName(event));
    const bool pipes = std::all_of(std::begin(kPipes), std::end(kPipes), [&](std::string_view pipe) {
      return std::find(names.begin(), names.end(), pipe) != names.end();
    });
    std::string header = "Device_id,Core ID";
    if (pipes) {
      for (const std::string_view pipe : kPipes) header += "," + std::string(pipe);
      header += ",icache_miss_rate,memory_bound";
    } else {
      for (const std::string& name : names) header += "," + name;
    }
    const auto number = [&](const Entry& entry, uint32_t event) {
      const auto at = std::find(events.begin(), events.end(), event);
      const size_t column = 3 + static_cast<size_t>(at - events.begin());
      return at == events.end() || column >= entry.stats.size() ? kNoNumber : entry.stats[column].sum;
    };
    CsvFile* csv = nullptr;
    std::vector<double> sums;
    double cores = 0;
    const auto row = [&](const std::vector<double>& values) {
      for (const double value : values) csv->Rounded(value, 6);
      csv->End();
    };
    for (const Entry* entry : entries) {
      if (entry->keys[0] < 0 || (entry->keys[1] != 0) != vector || !(entry->stats[0].sum > 0)) continue;
      csv = context.folder.Open(vector ? "ai_vector_core_utilization" : "ai_core_utilization", header);
      if (csv == nullptr) return;
      std::vector<double> values;
      if (pipes) {
        for (const uint32_t event : {0x8u, 0xau, 0x9u, 0xbu, 0xcu, 0xdu}) {
          values.push_back(number(*entry, event) / entry->stats[0].sum);
        }
        const double requests = number(*entry, kCacheRequests);
        values.push_back(requests > 0 ? number(*entry, kCacheMisses) / requests : 0);
        const double most = std::max(values[0], values[1]);
        values.push_back(most > 0 ? values[4] / most : 0);
      } else {
        for (const uint32_t event : events) values.push_back(number(*entry, event) / entry->stats[0].sum);
      }
      sums.resize(values.size());
      for (size_t i = 0; i < values.size(); ++i) sums[i] += values[i];
      ++cores;
      csv->Device(device);
      csv->Text("Core" + std::to_string(entry->keys[0]));
      row(values);
    }
    if (csv == nullptr) return;
    for (double& sum : sums) sum /= cores;
    csv->Device(device);
    csv->Text("Average");
    row(sums);
  });
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
