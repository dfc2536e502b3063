// Numbers as text, faster than printf: each writes at `at`, where there must be room for kNumberText bytes,
// and returns the place behind.
#pragma once

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <cstring>

namespace profd::client {

inline constexpr size_t kNumberText = 32;

namespace number_text_internal {
inline constexpr int64_t kPowers[] = {1, 10, 100, 1000, 10'000, 100'000, 1'000'000};

// "00" to "99"
inline constexpr auto kPairs = [] {
  std::array<char, 200> pairs{};
  for (size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();
// The least number of so many digits, and one more; of none 0.
inline constexpr auto kLeast = [] {
  std::array<uint64_t, 20> least{};
  for (uint64_t i = 1, power = 10; i < least.size(); ++i, power *= 10) least[i] = power;
  return least;
}();
// Of zero one.
inline int DigitCount(uint64_t value) {
  const int surely = std::bit_width(value | 1) * 1233 >> 12;  // bits × log10(2)
  return surely + static_cast<int>(value >= kLeast[static_cast<size_t>(surely)]);
}
// value < 10^digits
inline char* Write(char* at, uint64_t value, int digits) {
  int left = digits;
  for (; left >= 2; left -= 2, value /= 100) std::memcpy(at + left - 2, kPairs.data() + 2 * (value % 100), 2);
  if (left == 1) at[0] = static_cast<char>('0' + value % 10);
  return at + digits;
}
}  // namespace number_text_internal

inline char* WriteInteger(char* at, std::unsigned_integral auto value) {
  return number_text_internal::Write(at, value, number_text_internal::DigitCount(value));
}
inline char* WriteInteger(char* at, std::signed_integral auto value) {
  if (value >= 0) return WriteInteger(at, static_cast<uint64_t>(value));
  *at = '-';
  return WriteInteger(at + 1, uint64_t{0} - static_cast<uint64_t>(value));
}

// Exactly `Digits` digits, leading zeros included; value < 10^Digits.
template <int Digits>
inline char* WriteDigits(char* at, uint64_t value) {
  return number_text_internal::Write(at, value, Digits);
}

// Nanoseconds as microseconds with 3 decimals.
inline char* WriteMicroseconds(char* at, uint64_t ns) {
  at = WriteInteger(at, ns / 1000);
  *at++ = '.';
  return WriteDigits<3>(at, ns % 1000);
}

// The same of moments: the next one mostly has the same second. **Thread:** one.
class StampText {
 public:
  char* Write(char* at, uint64_t ns) {
    constexpr uint64_t kSecond = 1'000'000'000;
    if (ns - second_ns_ >= kSecond) {
      second_ns_ = ns / kSecond * kSecond;
      size_ = second_ns_ == 0 ? 0 : static_cast<size_t>(WriteInteger(text_, ns / kSecond) - text_);
    }
    if (size_ == 0) return WriteMicroseconds(at, ns);
    std::memcpy(at, text_, sizeof(text_));
    const uint64_t rest = ns - second_ns_;
    at = WriteDigits<6>(at + size_, rest / 1000);
    *at = '.';
    return WriteDigits<3>(at + 1, rest % 1000);
  }

 private:
  uint64_t second_ns_ = 0;
  char text_[16] = {};
  size_t size_ = 0;
};

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
