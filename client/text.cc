#include "client/text.h"

#include <array>
#include <cstdio>
#include <ctime>

namespace profd::client {

namespace {

// Bytes of the UTF-8 character at the front of `text` (not empty), 0 when it is none or a control character.
size_t PlainCharacter(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return first >= 0x20 && first != 0x7f ? 1 : 0;
  size_t length = 0;
  uint32_t value = 0;
  if ((first & 0xe0) == 0xc0) {
    length = 2;
    value = first & 0x1f;
  } else if ((first & 0xf0) == 0xe0) {
    length = 3;
    value = first & 0x0f;
  } else if ((first & 0xf8) == 0xf0) {
    length = 4;
    value = first & 0x07;
  } else {
    return 0;
  }
  if (text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
    value = value << 6 | (byte(i) & 0x3f);
  }
  static constexpr std::array<uint32_t, 5> kSmallest{0, 0, 0x80, 0x800, 0x10000};
  const bool is_surrogate = value >= 0xd800 && value < 0xe000;
  const bool is_control = value < 0xa0;  // C1 commands are two bytes long
  return value < kSmallest[length] || value > 0x10ffff || is_surrogate || is_control ? 0 : length;
}

std::string Print(const char* format, double value, const char* unit) {
  char buffer[64];
  std::snprintf(buffer, sizeof(buffer), format, value, unit);
  return buffer;
}

}  // namespace

std::string OneLine(std::string_view untrusted) {
  std::string text;
  text.reserve(untrusted.size());
  while (!untrusted.empty()) {
    const size_t length = PlainCharacter(untrusted);
    if (length == 0) {
      text += '?';
    } else {
      text += untrusted.substr(0, length);
    }
    untrusted.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

bool IsPlainText(std::string_view untrusted) {
  while (!untrusted.empty()) {
    const size_t length = PlainCharacter(untrusted);
    if (length == 0) return false;
    untrusted.remove_prefix(length);
  }
  return true;
}

size_t Width(std::string_view text) {
  size_t width = 0;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xc0) != 0x80) ++width;
  }
  return width;
}

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

std::string FormatHz(double hz) { return hz == 0 ? "-" : Print("%.6g %s", hz, "Hz"); }

std::string FormatDuration(uint64_t ns) {
  const double seconds = static_cast<double>(ns) / 1e9;
  if (ns < 1'000'000'000) return Print("%.0f %s", static_cast<double>(ns / 1'000'000), "ms");
  if (ns < 60'000'000'000) return Print("%.1f %s", static_cast<double>(ns / 100'000'000) / 10, "s");
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
  const auto seconds = static_cast<time_t>(wall_ns / 1'000'000'000);
  tm local{};
  if (::localtime_r(&seconds, &local) == nullptr) return "-";
  char buffer[64];
  std::strftime(buffer, sizeof(buffer), "%Y-%m-%d %H:%M:%S", &local);
  return buffer;
}

}  // namespace profd::client
