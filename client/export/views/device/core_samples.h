// What the sampled counters of cores make over a whole recording.
#pragma once

#include <cstdint>
#include <vector>

#include "client/export/views/device/core_metrics.h"
#include "client/export/views/keyed_stats.h"
#include "client/export/write/output.h"

namespace profd::client {

struct DeviceCores {
  struct Core {
    int64_t number = 0;
    double busy_ns = 0;          // kNoNumber: the clock is not known
    std::vector<double> values;  // one per metric
  };
  int device = -1;
  std::vector<CoreMetric> metrics;
  std::vector<Core> cores;
};

// `stats`: of the series core_sample. Of devices without such cores nothing.
std::vector<DeviceCores> SampledCores(bool vector, const KeyedStats& stats, const CaptureFacts& facts);

}  // namespace profd::client
