// How well a device is, as values.
#pragma once

#include <vector>

#include "daemon/driver/driver.h"
#include "daemon/live/values/metric.h"

namespace profd::live {

// Of what the device says; `labels` come first in each. **Thread:** any.
void AddHealthValues(const driver::DeviceHealth& health, const std::vector<Label>& labels,
                     std::vector<Sample>& samples);

}  // namespace profd::live
