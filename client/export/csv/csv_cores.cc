#include "client/export/csv/csv_cores.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "format/series.h"

namespace profd::client {

namespace {

// What the vendor's tables leave empty of a 310B (viewer/chip_model_function/chip_model_decorators.py),
// though its vector cores have it.
constexpr std::string_view kEmptyOf310B[] = {
    "vec_ratio",        "vec_fp32_ratio",           "vec_fp16_ratio",      "vec_int32_ratio",
    "vec_misc_ratio",   "vec_bankgroup_cflt_ratio", "vec_bank_cflt_ratio", "vec_resc_cflt_ratio",
    "ub_read_bw(GB/s)", "ub_write_bw(GB/s)",        "l0c_write_bw(GB/s)",  "l2_write_bw(GB/s)"};

void Number(CsvFile* csv, double value, int digits) {
  std::isnan(value) ? csv->Na() : csv->Rounded(value, digits);
}

// How much of what all cores could have done in the task's time.
double Utilization(const format::SideFacts* side, double cycles, double us) {
  const double could = side == nullptr ? 0 : side->aic_mhz * static_cast<double>(side->ai_core_num) * us;
  return could > 0 ? 100 * cycles / could : format::kNoValue;
}

}  // namespace

void CsvCores::Find(const CaptureFacts& facts, bool vendor_compatible) {
  vendor_compatible_ = vendor_compatible;
  for (const format::SideFacts& side : facts.devices) {
    if (!side.cores_by_task) continue;
    any_ = true;
    apart_ = format::TraitsOf(side.chip).tells_cores_apart();
    has_both_ = format::TraitsOf(side.chip).has_both_cores();
    for (const bool vector : {false, true}) {
      events_[vector] = vector ? side.aiv_events : side.aic_events;
      metrics_[vector] = CoreMetricsOf(side, vector, CoreMode::kByTask);
    }
    knows_cubes_ = std::ranges::count(metrics_[0], "mac_ratio", &CoreMetric::name) > 0;
    return;
  }
}

std::string CsvCores::Header() const {
  std::string header;
  if (!any_) return header;
  for (const bool vector : {false, true}) {
    if (vector && !apart_) break;
    const std::string core = !apart_ ? "" : vector ? "aiv_" : "aic_";
    header += (vector ? ",aiv_time(us)," : ",aicore_time(us),") + core + "total_cycles";
    for (const CoreMetric& metric : metrics_[vector]) {
      if (metric.is_pipe) header += "," + core + metric.TimeName() + "(us)";
      header += "," + core + metric.name;
    }
  }
  return knows_cubes_ ? header + ",cube_utilization(%)" : header;
}

const format::TaskCounters::Core* CsvCores::Counted(const format::SideFacts* side,
                                                    const format::TaskCounters* counters, bool vector) const {
  if (side == nullptr || counters == nullptr || !counters->core[vector].counted) return nullptr;
  return (vector ? side->aiv_events : side->aic_events) == events_[vector] ? &counters->core[vector]
                                                                           : nullptr;
}

void CsvCores::Write(CsvFile* csv, const format::SideFacts* side, const format::TaskCounters* counters,
                     uint32_t blocks, bool knows_operator, double us) const {
  if (!any_) return;
  if (!apart_) return WriteOne(csv, side, counters, blocks, knows_operator, us);
  double cube_cycles = format::kNoValue;
  for (const bool vector : {false, true}) {
    const format::TaskCounters::Core* const core = Counted(side, counters, vector);
    if (core == nullptr) {
      const size_t times = std::ranges::count(metrics_[vector], true, &CoreMetric::is_pipe);
      const bool zeros = vendor_compatible_ && Counted(side, counters, !vector) != nullptr;
      for (size_t i = 2 + times + metrics_[vector].size(); i > 0; --i) zeros ? csv->Int(0) : csv->Na();
      if (!vector && zeros) cube_cycles = 0;
      continue;
    }
    const auto cycles = static_cast<double>(core->cycles);
    const double busy_us = CoreBusyUs(*core, *side, vector, blocks);
    Number(csv, busy_us, 3);
    csv->Int(core->cycles);
    const auto events = EventsOf(*core);
    for (const CoreMetric& metric : metrics_[vector]) {
      const double value = metric.Value({cycles, vector ? side->aiv_mhz : side->aic_mhz, events});
      if (metric.is_pipe) Number(csv, busy_us * value, 3);
      Number(csv, value, 6);
    }
    if (!vector) cube_cycles = cycles;
  }
  if (knows_cubes_) Number(csv, Utilization(side, cube_cycles, us), 3);
}

// Of the core that ran.
void CsvCores::WriteOne(CsvFile* csv, const format::SideFacts* side, const format::TaskCounters* counters,
                        uint32_t blocks, bool knows_operator, double us) const {
  const bool vector = counters != nullptr && !counters->core[0].counted;
  const format::TaskCounters::Core* const core = Counted(side, counters, vector);
  const double cycles = core == nullptr ? format::kNoValue : static_cast<double>(core->cycles);
  // The vendor's takes blocks from operators alone (mscalculate/aic/pmu_calculator.py): without any, as at
  // level l0, the time is 0.
  if (vendor_compatible_ && !knows_operator) blocks = 0;
  double busy_us = core == nullptr ? format::kNoValue : CoreBusyUs(*core, *side, vector, blocks);
  if (vendor_compatible_ && core != nullptr && std::isnan(busy_us)) busy_us = 0;
  Number(csv, busy_us, 3);
  core == nullptr ? csv->Na() : csv->Int(core->cycles);
  for (const CoreMetric& column : metrics_[0]) {
    double value = format::kNoValue;
    const auto metric = std::ranges::find(metrics_[vector], column.name, &CoreMetric::name);
    if (core != nullptr && metric != metrics_[vector].end() && IsShown(*metric)) {
      const auto events = EventsOf(*core);
      value = metric->Value({cycles, vector ? side->aiv_mhz : side->aic_mhz, events});
    }
    if (column.is_pipe) Number(csv, busy_us * value, 3);
    Number(csv, value, 6);
  }
  const bool counts = !vector || vendor_compatible_;
  if (knows_cubes_) Number(csv, counts ? Utilization(side, cycles, us) : format::kNoValue, 3);
}

bool CsvCores::IsShown(const CoreMetric& metric) const {
  if (!vendor_compatible_ || !has_both_) return metric.is_of_core;
  return std::ranges::find(kEmptyOf310B, metric.name) == std::end(kEmptyOf310B);
}

}  // namespace profd::client
