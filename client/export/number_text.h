// Numbers as text, faster than printf: each writes at `at`, where there must be room for kNumberText bytes,
// and returns the place behind.
#pragma once

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>

namespace profd::client {

inline constexpr size_t kNumberText = 32;

inline char* WriteInteger(char* at, auto value) { return std::to_chars(at, at + kNumberText, value).ptr; }

// Exactly `Digits` digits, leading zeros included; value < 10^Digits.
template <int Digits>
inline char* WriteDigits(char* at, uint64_t value) {
  for (int i = Digits - 1; i >= 0; --i, value /= 10) at[i] = static_cast<char>('0' + value % 10);
  return at + Digits;
}

// Nanoseconds as microseconds with 3 decimals.
inline char* WriteMicroseconds(char* at, uint64_t ns) {
  at = WriteInteger(at, ns / 1000);
  *at++ = '.';
  return WriteDigits<3>(at, ns % 1000);
}

// The fewest digits that read back as the same number; whole numbers as "12.0". NaN and infinities, which
// JSON has no word for, as "null".
inline char* WriteShortest(char* at, double value) {
  if (!std::isfinite(value)) return static_cast<char*>(std::memcpy(at, "null", 4)) + 4;
  if (value == std::trunc(value) && std::fabs(value) < 1e15) {
    if (value == 0 && std::signbit(value)) value = 0;
    at = WriteInteger(at, static_cast<int64_t>(value));
    return static_cast<char*>(std::memcpy(at, ".0", 2)) + 2;
  }
  return std::to_chars(at, at + kNumberText, value).ptr;
}

namespace number_text_internal {
inline constexpr int64_t kPowers[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000};
}

// `value` rounded to `digits` (at most 6) decimals.
inline double Rounded(double value, int digits) {
  const double power = static_cast<double>(number_text_internal::kPowers[digits]);
  if (!(std::fabs(value) < 1e9)) return value;
  const double scaled = value * power, below = std::floor(scaled);
  if (std::fabs(scaled - below - 0.5) > 1e-6) return std::nearbyint(scaled) / power;
  char text[64];  // nearly half way: let the exact value decide
  const auto [end, error] = std::to_chars(text, text + sizeof(text), value, std::chars_format::fixed, digits);
  double result = value;
  std::from_chars(text, end, result);
  return result;
}

// Rounded to at most `digits` decimals, without trailing zeros, one decimal at least: as a rounding viewer
// prints it ("95.367", "4.0"). Needs room for 2 kNumberText.
inline char* WriteRounded(char* at, double value, int digits) {
  if (!(std::fabs(value) < 1e9)) return WriteShortest(at, value);
  const double rounded = Rounded(value, digits);
  const int64_t power = number_text_internal::kPowers[digits];
  int64_t scaled = std::llround(rounded * static_cast<double>(power));
  if (scaled < 0) *at++ = '-', scaled = -scaled;
  at = WriteInteger(at, scaled / power);
  *at++ = '.';
  int64_t rest = scaled % power;
  int left = digits;
  while (left > 1 && rest % 10 == 0) rest /= 10, --left;
  for (int i = left - 1; i >= 0; --i, rest /= 10) at[i] = static_cast<char>('0' + rest % 10);
  return at + left;
}

// Exactly `digits` decimals.
inline char* WriteFixed(char* at, double value, int digits) {
  if (!std::isfinite(value)) return static_cast<char*>(std::memcpy(at, "null", 4)) + 4;
  if (!(std::fabs(value) < 1e9))
    return std::to_chars(at, at + 2 * kNumberText, value, std::chars_format::general).ptr;
  const double rounded = Rounded(value, digits);
  const int64_t power = number_text_internal::kPowers[digits];
  int64_t scaled = std::llround(rounded * static_cast<double>(power));
  if (scaled < 0) *at++ = '-', scaled = -scaled;
  at = WriteInteger(at, scaled / power);
  if (digits == 0) return at;
  *at++ = '.';
  int64_t rest = scaled % power;
  for (int i = digits - 1; i >= 0; --i, rest /= 10) at[i] = static_cast<char>('0' + rest % 10);
  return at + digits;
}

}  // namespace profd::client
