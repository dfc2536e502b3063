// Lines that say the same of different numbers.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace profd::client {

// "device 1: 30 lost" and "device 2: 30 lost" → "device …: 30 lost"; none where more than numbers differs.
std::optional<std::string> Merged(std::string_view one, std::string_view other);

}  // namespace profd::client
