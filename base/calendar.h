// Wall-clock times as text, in UTC and in the machine's zone. Empty for a time that no calendar holds.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <ctime>
#include <string>

namespace profd::base {

inline std::string CalendarText(uint64_t wall_ns, const char* format,
                                std::tm* (*zone)(const std::time_t*, std::tm*)) {
  const auto seconds = static_cast<std::time_t>(wall_ns / 1'000'000'000);
  std::tm time{};
  if (zone(&seconds, &time) == nullptr) return "";
  std::array<char, 48> text;
  return {text.data(), std::strftime(text.data(), text.size(), format, &time)};
}

// `format` as strftime's: "2026-01-02T03:04:05Z".
inline std::string UtcText(uint64_t wall_ns, const char* format = "%Y-%m-%dT%H:%M:%SZ") {
  return CalendarText(wall_ns, format, ::gmtime_r);
}

inline std::string LocalText(uint64_t wall_ns, const char* format = "%Y-%m-%d %H:%M:%S") {
  return CalendarText(wall_ns, format, ::localtime_r);
}

// "2026-01-02T03:04:05.678Z"
inline std::string UtcTextWithMs(uint64_t wall_ns) {
  std::array<char, 8> ms;
  std::snprintf(ms.data(), ms.size(), ".%03uZ", static_cast<unsigned>(wall_ns / 1'000'000 % 1000));
  const std::string day = UtcText(wall_ns, "%Y-%m-%dT%H:%M:%S");
  return day.empty() ? day : day + ms.data();
}

// "03:04:05 UTC"
inline std::string TimeOfDay(uint64_t wall_ns) { return UtcText(wall_ns, "%H:%M:%S UTC"); }

}  // namespace profd::base
