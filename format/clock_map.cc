#include "format/clock_map.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace profd::format {

namespace {

// How far a crystal may be off its nominal rate while only one pair is known.
constexpr double kNominalDrift = 100e-6;
// Faster than this the kernel does not slew the wall clock; more between two pairs means that somebody set
// it.
constexpr double kFastestSlew = 500e-6;
constexpr uint64_t kUnknown = std::numeric_limits<uint64_t>::max();

// To the nearest whole number, ties to even; every stamp comes through here, and a call of libm is half its
// time.
double Nearest(double value) {
  constexpr double kWhole = 6755399441055744.0;  // 1.5 × 2^52: what is added to it loses its fraction
  return std::abs(value) < 2251799813685248.0 ? (value + kWhole) - kWhole : std::nearbyint(value);
}

// `base` + `offset`, kept within what uint64_t holds.
uint64_t Moved(uint64_t base, double offset) {
  if (offset == 0) return base;
  constexpr double kMost = 18e18;
  const double clamped = std::clamp(Nearest(offset), -kMost, kMost);
  if (clamped < 0) {
    const auto down = static_cast<uint64_t>(-clamped);
    return down > base ? 0 : base - down;
  }
  const auto up = static_cast<uint64_t>(clamped);
  return up > kUnknown - base ? kUnknown : base + up;
}

double Difference(uint64_t a, uint64_t b) {
  return a >= b ? static_cast<double>(a - b) : -static_cast<double>(b - a);
}

// A line from clock `from` to clock `to` around one pair.
struct Line {
  uint64_t from = 0;
  uint64_t to = 0;
  double slope = 1;        // ns of `to` per unit of `from`
  double slope_error = 0;  // relative
  uint64_t error_ns = 0;   // at the pair itself
  uint64_t span = 0;       // units of `from` within which error_ns holds without growth
  double direction = 1;    // the span lies after (1) or before (-1) the pair

  ClockReading At(uint64_t stamp) const {
    const double units = Difference(stamp, from);
    const double ns = units * slope;
    double outside = units * direction;  // beyond the span, or before the pair
    outside = outside < 0 ? -outside : std::max(0.0, outside - static_cast<double>(span));
    return {Moved(to, ns), Moved(error_ns, outside * slope * slope_error)};
  }
};

// The line that holds at `stamp`: between its neighbouring pairs, or the nearest one beyond the ends.
Line LineAt(const std::vector<ClockPair>& pairs, uint64_t stamp, uint64_t ClockPair::*from,
            uint64_t ClockPair::*to, double nominal_slope) {
  const auto above =
      std::upper_bound(pairs.begin(), pairs.end(), stamp,
                       [from](uint64_t value, const ClockPair& pair) { return value < pair.*from; });
  size_t left = above == pairs.begin() ? 0 : static_cast<size_t>(above - pairs.begin()) - 1;
  const bool beyond_last = left + 1 == pairs.size();
  if (beyond_last && left > 0) --left;
  const ClockPair& first = pairs[left];
  const ClockPair& near = beyond_last ? pairs.back() : first;
  Line line;
  line.from = near.*from;
  line.to = near.*to;
  line.error_ns = near.error_ns;
  line.slope = nominal_slope;
  line.slope_error = kNominalDrift;
  if (left + 1 == pairs.size()) return line;

  const ClockPair& second = pairs[left + 1];
  // A clock that stood still or ran backwards between two pairs was reset: its nominal rate is all that is
  // known.
  if (second.*from <= first.*from || second.*to <= first.*to) return line;
  const double run = Difference(second.*from, first.*from);
  const double rise = Difference(second.*to, first.*to);
  line.slope = rise / run;
  line.error_ns = std::max(first.error_ns, second.error_ns);
  line.slope_error = static_cast<double>(first.error_ns + second.error_ns) / rise;
  line.span = second.*from - first.*from;
  line.direction = beyond_last ? -1 : 1;
  return line;
}

// From the host's raw clock to the wall clock.
Line WallLine(const std::vector<ClockPair>& pairs, uint64_t host_raw_ns) {
  Line line = LineAt(pairs, host_raw_ns, &ClockPair::host_raw_ns, &ClockPair::wall_ns, 1);
  if (std::abs(line.slope - 1) > kFastestSlew) {
    // The wall clock was set. Each reading belongs to the time the clock showed when it was taken: keep the
    // last one.
    line.slope = 1;
    line.slope_error = kNominalDrift;
    line.span = 0;
  }
  return line;
}

// The same as Line::At. What is usual, within weeks of the line's own point, goes without clamping.
inline uint64_t At(const ClockMemo::Line& line, uint64_t stamp) {
  const double offset = Difference(stamp, line.from) * line.slope;
  constexpr double kFar = 2251799813685248.0;  // 2^51, as in Nearest
  if (std::abs(offset) < kFar) {
    const auto move = static_cast<int64_t>(Nearest(offset));
    const uint64_t moved = line.to + static_cast<uint64_t>(move);
    if ((moved < line.to) == (move < 0)) return moved;
  }
  return Moved(line.to, offset);
}

// Which stamps have the line of `stamp`.
void SetRange(const std::vector<ClockPair>& pairs, uint64_t stamp, uint64_t ClockPair::*from,
              ClockMemo::Line& memo) {
  const auto before = [from](const ClockPair& a, const ClockPair& b) { return a.*from < b.*from; };
  memo.first = memo.last = stamp;
  if (!std::is_sorted(pairs.begin(), pairs.end(), before)) return;
  const auto above =
      std::upper_bound(pairs.begin(), pairs.end(), stamp,
                       [from](uint64_t value, const ClockPair& pair) { return value < pair.*from; });
  const size_t behind = std::max<size_t>(static_cast<size_t>(above - pairs.begin()), 1);
  memo.first = behind == 1 ? 0 : pairs[behind - 1].*from;
  memo.last = behind == pairs.size() ? kUnknown : pairs[behind].*from - 1;
}

// A frequency no counter has (files may hold anything) counts as unknown: the counter is in ns.
double TickNs(double mhz) { return mhz >= 1e-6 && mhz <= 1e6 ? 1000 / mhz : 1; }

}  // namespace

ClockMap::ClockMap(double device_counter_mhz, double host_counter_mhz)
    : device_tick_ns_(TickNs(device_counter_mhz)), host_tick_ns_(TickNs(host_counter_mhz)) {}

void ClockMap::Add(const ClockPair& pair) {
  const auto at =
      std::lower_bound(pairs_.begin(), pairs_.end(), pair,
                       [](const ClockPair& a, const ClockPair& b) { return a.host_raw_ns < b.host_raw_ns; });
  if (at != pairs_.end() && at->host_raw_ns == pair.host_raw_ns) {
    *at = pair;
  } else {
    pairs_.insert(at, pair);
  }
}

ClockReading ClockMap::ToHostRaw(uint64_t stamp, uint64_t ClockPair::*clock,
                                 double nominal_ns_per_unit) const {
  if (pairs_.empty()) return {0, kUnknown};
  return LineAt(pairs_, stamp, clock, &ClockPair::host_raw_ns, nominal_ns_per_unit).At(stamp);
}

ClockReading ClockMap::HostCounterToRaw(uint64_t ticks) const {
  return ToHostRaw(ticks, &ClockPair::host_counter, host_tick_ns_);
}
ClockReading ClockMap::DeviceNsToHostRaw(uint64_t device_raw_ns) const {
  return ToHostRaw(device_raw_ns, &ClockPair::device_raw_ns, 1);
}
ClockReading ClockMap::DeviceTicksToHostRaw(uint64_t ticks) const {
  return ToHostRaw(ticks, &ClockPair::device_counter, device_tick_ns_);
}

ClockReading ClockMap::HostRawToWall(uint64_t host_raw_ns) const {
  if (pairs_.empty()) return {0, kUnknown};
  return WallLine(pairs_, host_raw_ns).At(host_raw_ns);
}

uint64_t ClockMap::ToWall(Clock clock, uint64_t stamp, ClockMemo& memo) const {
  if (pairs_.empty()) return 0;
  if (clock != Clock::kHostRaw) {
    ClockMemo::Line& memoed = memo.to_raw;
    if (stamp < memoed.first || stamp > memoed.last) {
      constexpr uint64_t ClockPair::*kOf[kClocks] = {&ClockPair::host_raw_ns, &ClockPair::host_counter,
                                                     &ClockPair::device_raw_ns, &ClockPair::device_counter};
      const double nominal[kClocks] = {1, host_tick_ns_, 1, device_tick_ns_};
      const auto from = kOf[static_cast<size_t>(clock)];
      const Line line =
          LineAt(pairs_, stamp, from, &ClockPair::host_raw_ns, nominal[static_cast<size_t>(clock)]);
      SetRange(pairs_, stamp, from, memoed);
      memoed.from = line.from, memoed.to = line.to, memoed.slope = line.slope;
    }
    stamp = At(memoed, stamp);
  }
  ClockMemo::Line& memoed = memo.to_wall;
  if (stamp < memoed.first || stamp > memoed.last) {
    const Line line = WallLine(pairs_, stamp);
    SetRange(pairs_, stamp, &ClockPair::host_raw_ns, memoed);
    memoed.from = line.from, memoed.to = line.to, memoed.slope = line.slope;
  }
  return At(memoed, stamp);
}

ClockReading ClockMap::ThenWall(ClockReading host_raw) const {
  const ClockReading wall = HostRawToWall(host_raw.ns);
  return {wall.ns,
          host_raw.error_ns > kUnknown - wall.error_ns ? kUnknown : host_raw.error_ns + wall.error_ns};
}

ClockReading ClockMap::HostCounterToWall(uint64_t ticks) const { return ThenWall(HostCounterToRaw(ticks)); }
ClockReading ClockMap::DeviceNsToWall(uint64_t device_raw_ns) const {
  return ThenWall(DeviceNsToHostRaw(device_raw_ns));
}
ClockReading ClockMap::DeviceTicksToWall(uint64_t ticks) const {
  return ThenWall(DeviceTicksToHostRaw(ticks));
}

}  // namespace profd::format
