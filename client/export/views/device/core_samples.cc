#include "client/export/views/device/core_samples.h"

#include "client/export/views/views.h"

namespace profd::client {

namespace {

using Entry = KeyedStats::Entry;

constexpr size_t kFirstEvent = 3;  // of the columns of a core's samples

}  // namespace

std::vector<DeviceCores> SampledCores(bool vector, const KeyedStats& stats, const CaptureFacts& facts) {
  std::vector<DeviceCores> devices;
  EachDevice(stats.Sorted(), [&](int device, std::span<const Entry* const> entries) {
    const format::SideFacts* side = facts.Device(device);
    if (side == nullptr) return;
    DeviceCores found;
    found.device = device;
    found.metrics = CoreMetricsOf(*side, vector, CoreMode::kSampled);
    std::vector<double> counts((vector ? side->aiv_events : side->aic_events).size());
    for (const Entry* entry : entries) {
      if (entry->keys[0] < 0 || (entry->keys[1] != 0) != vector || !(entry->stats[0].sum > 0)) continue;
      for (size_t i = 0; i < counts.size(); ++i) {
        counts[i] =
            kFirstEvent + i < entry->stats.size() ? entry->stats[kFirstEvent + i].sum : format::kNoValue;
      }
      DeviceCores::Core core;
      core.number = entry->keys[0];
      const double mhz = vector ? side->aiv_mhz : side->aic_mhz;
      core.busy_ns = mhz > 0 ? entry->stats[0].sum / mhz * 1e3 : format::kNoValue;
      for (const CoreMetric& metric : found.metrics)
        core.values.push_back(metric.Value({entry->stats[0].sum, mhz, counts}));
      found.cores.push_back(std::move(core));
    }
    if (!found.cores.empty()) devices.push_back(std::move(found));
  });
  return devices;
}

}  // namespace profd::client
