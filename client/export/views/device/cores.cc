// Cores of a device, sampled.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <string>

#include "client/export/views/device/core_samples.h"
#include "client/export/views/views.h"

namespace profd::client {

namespace {

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

void WriteAllCores(const KeyedStats& stats, const CsvContext& context) {
  WriteCores(false, stats, context);
  WriteCores(true, stats, context);
}

const CounterTable kCounters[] = {
    {"core_sample",
     Layer::kCoreUtilization,
     {{.name = "{core?Core #|Average}",
       .args = {{"Utilization(%)", "usage", kPercent}},
       .when = "vector=0"}}},
    {"core_sample",
     Layer::kCoreUtilization,
     {{.name = "Vector {core?core #|average}",
       .args = {{"Utilization(%)", "usage", kPercent}},
       .when = "vector=1"}},
     true},
    {"instr_busy",
     Layer::kOther,
     {{"Group{group}-{core:aic|aiv0|aiv1} {pipe}", {{"Busy(%)", "busy", kPercent}}}}},
    {"instr_flow",
     Layer::kOther,
     {{"biu_group{group} Latency", {{"Read", "read_latency"}, {"Write", "write_latency"}}},
      {"biu_group{group} Bandwidth", {{"Read", "read_bandwidth"}, {"Write", "write_bandwidth"}}}}},
};

const KeyedSeries kKeyed[] = {
    {.series = "core_sample", .write = WriteAllCores},
};

const DbTable kDbTables[] = {
    {.name = "SAMPLE_PMU_TIMELINE",
     .series = "core_sample",
     .columns = {kDevice,
                 kStamp,
                 {"totalCycle", "INTEGER", "cycles", 1, kWhole},
                 {"usage", "NUMERIC", "usage", kPercent},
                 {"freq", "NUMERIC", "freq", kMhz},
                 {"coreId", "INTEGER", "@key:core"},
                 {"coreType", "INTEGER", "@text:{vector:AIC|AIV}"}},
     .unless_negative = "core"},
};

constexpr About kAbout[] = {
    {"ai_core_utilization",
     "how busy each AI core was, over all of the collection, from counters sampled by time"},
    {"ai_vector_core_utilization", "the same as ai_core_utilization, of vector cores"},
};

}  // namespace

namespace views {
Views Cores() { return {.counters = kCounters, .keyed = kKeyed, .tables = kDbTables, .about = kAbout}; }
}  // namespace views

}  // namespace profd::client
