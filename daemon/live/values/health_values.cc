#include "daemon/live/values/health_values.h"

#include <optional>
#include <string>
#include <utility>

#include "daemon/live/values/metrics.h"

namespace profd::live {

void AddHealthValues(const driver::DeviceHealth& health, const std::vector<Label>& labels,
                     std::vector<Sample>& samples) {
  const auto add = [&](const Metric& metric, std::optional<double> value, std::vector<Label> more = {}) {
    if (!value) return;
    std::vector<Label> all = labels;
    all.insert(all.end(), more.begin(), more.end());
    samples.push_back({&metric, std::move(all), *value});
  };
  add(kHealthAlarm, health.alarm);
  add(kTemperature, health.celsius, {{"part", "chip"}});
  add(kTemperature, health.memory_celsius, {{"part", "hbm"}});
  add(kPower, health.watts);
  add(kHbmBytes, health.memory_bytes, {{"part", "total"}});
  add(kHbmBytes, health.memory_used_bytes, {{"part", "used"}});
  add(kDeviceFaults, health.faults);
  add(kNetworkHealth, health.network);
  if (!health.ecc) return;
  add(kEccErrors, static_cast<double>(health.ecc->corrected), {{"severity", "corrected"}});
  add(kEccErrors, static_cast<double>(health.ecc->uncorrected), {{"severity", "uncorrected"}});
  add(kIsolatedPages, static_cast<double>(health.ecc->isolated_pages));
}

}  // namespace profd::live
