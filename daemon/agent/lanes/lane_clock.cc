#include "daemon/agent/lanes/lane_clock.h"

#include <cmath>

#include "daemon/agent/lanes/sequenced.h"

namespace profd::agent {

abi::LaneClock ReadClock(const Region& region) {
  abi::LaneClock clock;
  CopySequenced(region.untrusted_header()->clock, &clock);
  return clock;
}

double NsPerTick(const abi::LaneClock& clock) {
  if (clock.counter == abi::kCounterRawClock) return 1;
  constexpr double kFarEnoughNs = 1e7;
  const double ns = static_cast<double>(clock.latest.raw_ns) - static_cast<double>(clock.first.raw_ns);
  const double passed = static_cast<double>(clock.latest.ticks) - static_cast<double>(clock.first.ticks);
  if (ns > kFarEnoughNs && passed > 0) return ns / passed;
  return clock.nominal_hz == 0 ? 0 : 1e9 / static_cast<double>(clock.nominal_hz);
}

uint64_t RawNsOf(const abi::LaneClock& clock, uint64_t ticks) {
  if (clock.counter == abi::kCounterRawClock) return ticks;
  const double ns_per_tick = NsPerTick(clock);
  if (ns_per_tick == 0) return 0;
  // Beyond this the clock is nonsense, and so would be the sum.
  constexpr double kFarthestNs = 1e18;
  const double since = static_cast<double>(static_cast<int64_t>(ticks - clock.latest.ticks)) * ns_per_tick;
  if (!(std::abs(since) < kFarthestNs) || clock.latest.raw_ns > static_cast<uint64_t>(kFarthestNs)) return 0;
  const int64_t at = static_cast<int64_t>(clock.latest.raw_ns) + static_cast<int64_t>(since);
  return at > 0 ? static_cast<uint64_t>(at) : 0;
}

}  // namespace profd::agent
