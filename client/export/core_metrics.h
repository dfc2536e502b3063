// What the vendor makes of the counters of cores: parts of the cycles, and of what was asked of a cache.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace profd::client {

// "mac_ratio"; of events that none of the vendor's groups has, their number.
std::string CoreMetricName(uint32_t event);

// A figure of the counters of one kind of core.
struct CoreMetric {
  std::string name;
  std::vector<size_t> plus;  // places of the counters that are added up
  size_t of = kCycles;       // place of what it is a part of
  static constexpr size_t kCycles = SIZE_MAX;

  double Value(uint64_t cycles, std::span<const uint64_t> counters) const;
};
// Of events in the order of their counters.
std::vector<CoreMetric> CoreMetricsOf(std::span<const uint32_t> events);

}  // namespace profd::client
