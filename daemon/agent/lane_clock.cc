#include "daemon/agent/lane_clock.h"

#include <atomic>
#include <cmath>
#include <cstring>

namespace profd::agent {

abi::LaneClock ReadClock(const Region& region) {
  abi::RegionHeader* untrusted = region.untrusted_header();
  constexpr size_t kWords = sizeof(abi::LaneClock) / sizeof(uint64_t);
  auto* untrusted_words = reinterpret_cast<uint64_t*>(&untrusted->clock);
  uint64_t words[kWords] = {};
  constexpr int kTries = 100;  // a process that died in between leaves it odd for ever
  for (int i = 0; i < kTries; ++i) {
    const uint32_t before = std::atomic_ref(untrusted->clock.sequence).load(std::memory_order_acquire);
    for (size_t word = 0; word < kWords; ++word) {
      words[word] = std::atomic_ref(untrusted_words[word]).load(std::memory_order_relaxed);
    }
    std::atomic_thread_fence(std::memory_order_acquire);
    const uint32_t after = std::atomic_ref(untrusted->clock.sequence).load(std::memory_order_relaxed);
    if (before % 2 == 0 && after == before) break;
  }
  abi::LaneClock clock;
  std::memcpy(&clock, words, sizeof clock);
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
