// Where stamps come from, and the line from ticks to CLOCK_MONOTONIC_RAW.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "libagent/abi/lane.h"

namespace profd::agent {

// The best counter of this machine: kCounterTsc, kCounterCntvct or kCounterRawClock. Reads sysfs; not on a
// hot path.
abi::CounterKind PickCounter();
// What the hardware says about the counter's rate; 0 where it doesn't.
uint64_t NominalHz(abi::CounterKind counter);

// Not ordered against neighbouring loads, as on every tracer's fast path.
inline uint64_t ReadCounter(abi::CounterKind counter) {
#if defined(__x86_64__)
  if (counter == abi::kCounterTsc) [[likely]]
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  if (counter == abi::kCounterCntvct) [[likely]] {
    uint64_t ticks;
    asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
  }
#endif
  return counter == abi::kCounterNone ? 0 : base::RawNs();
}

// Both clocks at one moment: the closest of several readings.
abi::ClockPair PairClocks(abi::CounterKind counter);

// Writes the latest pair (and the first, where there is none yet) into a region's clock.
void UpdateClock(abi::LaneClock& clock, abi::CounterKind counter);

}  // namespace profd::agent
