#include "daemon/device/line_shape.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace profd::device {

namespace {

// Sixteen bytes at once, in the compiler's own words for any machine's vectors; a comparison gives 0 or 0xFF
// per byte.
constexpr size_t kLanes = 16;
using Block = uint8_t __attribute__((vector_size(kLanes)));
// More blocks would overflow a lane's count.
constexpr size_t kMostBytes = 255 * kLanes;

// What a line consists of, by lanes.
struct Census {
  Block blanks{};
  Block others{};  // ≠ 0: neither digit nor one of " .:%"

  void Add(const char* bytes) {
    Block block;
    std::memcpy(&block, bytes, sizeof block);
    const auto blank = reinterpret_cast<Block>(block == ' ');
    const auto number = reinterpret_cast<Block>((block - '0' <= 10) | (block == '.') | (block == '%'));
    blanks -= blank;
    others |= ~(blank | number);
  }
};

}  // namespace

LineShape::LineShape(const format::StreamFormat& format)
    : format_(&format), timed_(format.stamp == format::StampDomain::kTextDeviceNs) {}

bool LineShape::Fits(std::string_view line) {
  if (blanks_ != 0 && LooksLikeTheLast(line)) return true;
  if (!format::PlausibleLine(*format_, line)) return false;
  colon_ = timed_ ? line.find(':') : 0;
  blanks_ = static_cast<uint32_t>(std::count(line.begin(), line.end(), ' '));
  return true;
}

bool LineShape::LooksLikeTheLast(std::string_view line) const {
  if (line.size() > kMostBytes) return false;
  if (timed_ && (line.size() < colon_ + 11 || line[colon_] != ':' || line[colon_ + 10] != ' ')) return false;
  Census census;
  size_t at = 0;
  for (; at + kLanes <= line.size(); at += kLanes) census.Add(line.data() + at);
  std::array<char, kLanes> rest;
  rest.fill('0');
  std::memcpy(rest.data(), line.data() + at, line.size() - at);
  census.Add(rest.data());
  uint32_t blanks = 0;
  uint32_t others = 0;
  for (size_t i = 0; i < kLanes; ++i) {
    blanks += census.blanks[i];
    others |= census.others[i];
  }
  return others == 0 && blanks == blanks_;
}

}  // namespace profd::device
