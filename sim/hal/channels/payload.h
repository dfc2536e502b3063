// Which user_data a channel accepts: the sizes and forms that drivers of different ages take.
#pragma once

#include <cstdint>
#include <string_view>

#include "sim/scenario/chip.h"

namespace profd::sim {

bool IsPayloadAccepted(const Chip& chip, uint32_t channel, std::string_view payload);

// Channels that the driver does not sample by period take any.
bool IsPeriodAccepted(const Chip& chip, uint32_t channel, uint32_t period_ms);

}  // namespace profd::sim
