#include "client/words/text.h"

#include <array>
#include <cstdio>

#include "base/calendar.h"
#include "base/wrap.h"

namespace profd::client {

namespace {

std::string Print(const char* format, double value, const char* unit) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value, unit);
  return buffer;
}

}  // namespace

size_t Width(std::string_view text) { return base::Width(text); }

std::string FormatBytes(double bytes) {
  static constexpr std::array<const char*, 6> kUnits{"B", "kB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  // 999.95 would print as 1000.0.
  while (bytes >= 999.95 && unit + 1 < kUnits.size()) {
    bytes /= 1000;
    ++unit;
  }
  return Print(unit == 0 ? "%.0f %s" : "%.1f %s", bytes, kUnits[unit]);
}

std::string FormatHz(double hz) {
  if (hz == 0) return "-";
  return hz >= 1e6 ? Print("%.6g %s", hz / 1e6, "MHz") : Print("%.6g %s", hz, "Hz");
}

std::string FormatValue(double value, std::string_view unit, bool is_ratio) {
  if (is_ratio) return Print("%.1f %s", value * 100, "%");
  if (unit == "By") return FormatBytes(value);
  if (unit == "By/s") return FormatBytes(value) + "/s";
  if (unit == "Hz") return Print("%.0f %s", value / 1e6, "MHz");
  if (unit == "Cel") return Print("%.4g %s", value, "°C");
  std::string text = Print("%.6g %s", value, unit == "1" ? "" : std::string(unit).c_str());
  if (text.back() == ' ') text.pop_back();
  return text;
}

std::string FormatDuration(uint64_t ns) {
  const double seconds = static_cast<double>(ns) / 1e9;
  const uint64_t ms = ns / 1'000'000, tenths = ns / 100'000'000;  // cut, not rounded: 59.96 s are not 60.0 s
  if (ns < 1'000'000'000) return Print("%.0f %s", static_cast<double>(ms), "ms");
  if (ns < 60'000'000'000) return Print("%.1f %s", static_cast<double>(tenths) / 10, "s");
  const auto whole = static_cast<uint64_t>(seconds);
  char buffer[64];
  if (whole < 3600) {
    std::snprintf(buffer, sizeof(buffer), "%d m %02d s", static_cast<int>(whole / 60),
                  static_cast<int>(whole % 60));
  } else {
    std::snprintf(buffer, sizeof(buffer), "%lu h %02d m", static_cast<unsigned long>(whole / 3600),
                  static_cast<int>(whole / 60 % 60));
  }
  return buffer;
}

std::string FormatWallTime(uint64_t wall_ns) {
  if (wall_ns == 0) return "-";
  const std::string text = base::LocalText(wall_ns);
  return text.empty() ? "-" : text;
}

}  // namespace profd::client
