// What a channel that runs means for who asks for it, and what the driver's answers mean. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/device/channel_hub.h"
#include "daemon/driver/driver.h"

namespace profd::device {

// True when what runs for `first` has what `other` asks for.
bool Serves(const ChannelRequest& first, const ChannelRequest& other);
base::Code CodeOf(int driver_code);
std::string Name(const ChannelRequest& request);
// How many periods of the running channel become one for this request.
uint32_t PeriodsFor(const ChannelRequest& request, uint32_t running_ms);
// In order; a kind of several channels is held once.
std::vector<Holding> HeldOnce(std::vector<Holding> holdings);

}  // namespace profd::device
