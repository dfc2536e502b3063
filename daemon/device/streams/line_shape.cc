#include "daemon/device/streams/line_shape.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "daemon/device/streams/records.h"

namespace profd::device {

namespace {

// Sixteen bytes at once, in the compiler's own words for any machine's vectors; a comparison gives 0 or 0xFF
// per byte.
constexpr size_t kLanes = 16;
using Block = uint8_t __attribute__((vector_size(kLanes)));
// More blocks would overflow a lane's count.
constexpr size_t kMostBytes = 255 * kLanes;

Block Load(const void* bytes) {
  Block block;
  std::memcpy(&block, bytes, sizeof block);
  return block;
}

// What a line consists of, by lanes.
struct Census {
  Block blanks{};
  Block others{};  // ≠ 0: neither digit nor one of " .:%"

  void Add(const char* bytes) { Add(bytes, ~Block{}); }
  // Blanks count only where `counts` is 0xFF: the others have been seen before.
  void Add(const char* bytes, Block counts) {
    const Block block = Load(bytes);
    const auto blank = reinterpret_cast<Block>(block == ' ');
    const auto number = reinterpret_cast<Block>((block - '0' <= 10) | (block == '.') | (block == '%'));
    blanks -= blank & counts;
    others |= ~(blank | number);
  }
};

using Halves = std::array<uint64_t, 2>;
static_assert(sizeof(Halves) == sizeof(Block));

// Of all lanes.
uint32_t Sum(Block block) {
  constexpr uint64_t kEven = 0x00ff00ff00ff00ff;
  uint64_t sums = 0;
  for (const uint64_t half : std::bit_cast<Halves>(block)) sums += (half & kEven) + (half >> 8 & kEven);
  return static_cast<uint32_t>((sums * 0x0001000100010001) >> 48);
}
bool AnySet(Block block) {
  const auto halves = std::bit_cast<Halves>(block);
  return (halves[0] | halves[1]) != 0;
}

// 0xFF in the last `count` lanes.
Block Last(size_t count) {
  static constexpr auto kEdge = [] {
    std::array<uint8_t, 2 * kLanes> edge{};
    std::fill(edge.begin() + kLanes, edge.end(), 0xFF);
    return edge;
  }();
  return Load(kEdge.data() + count);
}

}  // namespace

LineShape::LineShape(const format::StreamFormat& format)
    : format_(&format), timed_(format.stamp == format::StampDomain::kTextDeviceNs) {}

std::optional<LineShape::Line> LineShape::First(std::string_view text) {
  // Most are as long as the last one was; another end of a line in there would be no digit.
  if (blanks_ != 0 && length_ < text.size() && text[length_] == '\n') {
    const std::string_view line = text.substr(0, length_);
    if (LooksLikeTheLast(line)) return Line{line, true};
  }
  const size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  const bool fits = Fits(line);
  if (fits) length_ = end;
  return Line{line, fits};
}

bool LineShape::Fits(std::string_view line) {
  if (line.size() >= kMaxLine) return false;
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
  if (line.size() < kLanes) {
    std::array<char, kLanes> whole;
    whole.fill('0');
    std::memcpy(whole.data(), line.data(), line.size());
    census.Add(whole.data());
  } else {
    size_t at = 0;
    for (; at + kLanes <= line.size(); at += kLanes) census.Add(line.data() + at);
    if (at < line.size()) census.Add(line.data() + line.size() - kLanes, Last(line.size() - at));
  }
  return !AnySet(census.others) && Sum(census.blanks) == blanks_;
}

}  // namespace profd::device
