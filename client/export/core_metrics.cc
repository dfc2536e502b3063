#include "client/export/core_metrics.h"

#include <algorithm>

#include "client/export/csv_writers.h"
#include "format/series.h"

namespace profd::client {

std::string CoreMetricName(uint32_t event) {
  switch (event) {
    case 0x8:
      return "vec_ratio";
    case 0x9:
      return "scalar_ratio";
    case 0xa:
      return "mac_ratio";
    case 0xb:
      return "mte1_ratio";
    case 0xc:
      return "mte2_ratio";
    case 0xd:
      return "mte3_ratio";
    case 0x302:
      return "mte1_ratio_extra";
    case 0x303:
      return "fixpipe_ratio";
    case 0x49:
      return "mac_fp16_ratio";
    case 0x4a:
      return "mac_int8_ratio";
    case 0x4b:
      return "vec_fp32_ratio";
    case 0x4c:
      return "vec_fp16_128lane_ratio";
    case 0x4d:
      return "vec_fp16_64lane_ratio";
    case 0x4e:
      return "vec_int32_ratio";
    case 0x4f:
      return "vec_misc_ratio";
    case 0x64:
      return "vec_bankgroup_cflt_ratio";
    case 0x65:
      return "vec_bank_cflt_ratio";
    case 0x66:
      return "vec_resc_cflt_ratio";
    default:
      return HexText(event);
  }
}

double CoreMetric::Value(uint64_t cycles, std::span<const uint64_t> counters) const {
  double sum = 0;
  for (const size_t place : plus) sum += static_cast<double>(counters[place]);
  const auto whole = static_cast<double>(of == kCycles ? cycles : counters[of]);
  if (whole > 0) return sum / whole;
  return of == kCycles ? format::kNoValue : 0;  // of no requests none missed
}

std::vector<CoreMetric> CoreMetricsOf(std::span<const uint32_t> events) {
  // Two counters that make one figure.
  constexpr uint32_t kMacHalf = 0x416, kMacOther = 0x417, kRequests = 0x54, kMisses = 0x55;
  const auto place = [events](uint32_t event) {
    return static_cast<size_t>(std::ranges::find(events, event) - events.begin());
  };
  const auto has = [&](uint32_t event) { return place(event) < events.size(); };
  std::vector<CoreMetric> metrics;
  for (size_t i = 0; i < events.size(); ++i) {
    const uint32_t event = events[i];
    const bool pair = (event == kMacHalf && has(kMacOther)) || (event == kRequests && has(kMisses));
    if ((event == kMacOther && has(kMacHalf)) || (event == kMisses && has(kRequests))) continue;
    if (!pair) {
      metrics.push_back({CoreMetricName(event), {i}});
    } else if (event == kMacHalf) {
      metrics.push_back({"mac_ratio_extra", {i, place(kMacOther)}});
    } else {
      metrics.push_back({"icache_miss_rate", {place(kMisses)}, i});
    }
  }
  return metrics;
}

}  // namespace profd::client
