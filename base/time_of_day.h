// "13:45:01 UTC", for messages.
#pragma once

#include <array>
#include <cstdint>
#include <ctime>
#include <string>

namespace profd::base {

inline std::string TimeOfDay(uint64_t wall_ns) {
  const auto seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm utc{};
  ::gmtime_r(&seconds, &utc);
  std::array<char, 32> text;
  return {text.data(), std::strftime(text.data(), text.size(), "%H:%M:%S UTC", &utc)};
}

}  // namespace profd::base
