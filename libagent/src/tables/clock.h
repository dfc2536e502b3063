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

// The counter that is read without a call on this architecture.
#if defined(__x86_64__)
inline constexpr abi::CounterKind kInlineCounter = abi::kCounterTsc;
#elif defined(__aarch64__)
inline constexpr abi::CounterKind kInlineCounter = abi::kCounterCntvct;
#else
inline constexpr abi::CounterKind kInlineCounter = abi::kCounterNone;
#endif

uint64_t ReadOtherCounter(abi::CounterKind counter);

// Not ordered against neighbouring loads, as on every tracer's fast path.
inline uint64_t ReadCounter(abi::CounterKind counter) {
  if (counter != kInlineCounter) [[unlikely]]
    return ReadOtherCounter(counter);
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  asm volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  return 0;
#endif
}

// Both clocks at one moment: the closest of several readings.
abi::ClockPair PairClocks(abi::CounterKind counter);

// Writes the latest pair (and the first, where there is none yet) into a region's clock.
void UpdateClock(abi::LaneClock& clock, abi::CounterKind counter);

}  // namespace profd::agent
