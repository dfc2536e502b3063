// From the newest records of running channels to values: the decoders of format/ and what their rows mean
// here.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "daemon/device/channel_hub.h"
#include "daemon/driver/driver.h"
#include "daemon/live/values/metric.h"

namespace profd::live {

// Samples of one channel; none for a kind without values. `labels` come first in each.
// **Thread:** any.
void AddKindValues(const device::Peeked& peeked, const driver::DeviceFacts& facts,
                   const std::vector<Label>& labels, std::vector<Sample>& samples);
// Whether a kind of a device has values at all.
bool HasValues(std::string_view kind);

}  // namespace profd::live
