#include "libagent/src/tables/clock.h"

#include <cstring>

#if defined(__x86_64__)
#include <cpuid.h>
#include <fcntl.h>
#include <unistd.h>
#endif

#include "libagent/src/tables/sequenced.h"

namespace profd::agent {

namespace {

#if defined(__x86_64__)
bool HasInvariantTsc() {
  unsigned a = 0;
  unsigned b = 0;
  unsigned c = 0;
  unsigned d = 0;
  if (__get_cpuid(0x80000007, &a, &b, &c, &d) == 0 || (d & (1U << 8)) == 0) return false;
  // The kernel takes a TSC that differs between sockets off this list. Where there is no list the CPU's word
  // stands.
  const int fd =
      ::open("/sys/devices/system/clocksource/clocksource0/available_clocksource", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return true;
  char list[128];
  const ssize_t got = ::read(fd, list, sizeof(list) - 1);
  ::close(fd);
  if (got <= 0) return true;
  list[got] = '\0';
  return std::strstr(list, "tsc") != nullptr;
}
#endif

constexpr int kReadings = 16;

}  // namespace

abi::CounterKind PickCounter() {
#if defined(__x86_64__)
  return HasInvariantTsc() ? abi::kCounterTsc : abi::kCounterRawClock;
#elif defined(__aarch64__)
  return abi::kCounterCntvct;
#else
  return abi::kCounterRawClock;
#endif
}

uint64_t NominalHz(abi::CounterKind counter) {
  switch (counter) {
    case abi::kCounterRawClock:
      return 1'000'000'000;
#if defined(__x86_64__)
    case abi::kCounterTsc: {
      unsigned denominator = 0;
      unsigned numerator = 0;
      unsigned crystal_hz = 0;
      unsigned unused = 0;
      if (__get_cpuid(0x15, &denominator, &numerator, &crystal_hz, &unused) == 0 || denominator == 0)
        return 0;
      return uint64_t{crystal_hz} * numerator / denominator;
    }
#elif defined(__aarch64__)
    case abi::kCounterCntvct: {
      uint64_t hz;
      asm volatile("mrs %0, cntfrq_el0" : "=r"(hz));
      return hz;
    }
#endif
    default:
      return 0;
  }
}

uint64_t ReadOtherCounter(abi::CounterKind counter) {
  return counter == abi::kCounterNone ? 0 : base::RawNs();
}

abi::ClockPair PairClocks(abi::CounterKind counter) {
  abi::ClockPair best{};
  uint64_t best_width = UINT64_MAX;
  for (int i = 0; i < kReadings; ++i) {
    const uint64_t before = base::RawNs();
    const uint64_t ticks = ReadCounter(counter);
    const uint64_t after = base::RawNs();
    if (after - before < best_width) {
      best_width = after - before;
      best = {ticks, before + best_width / 2, best_width / 2 + 1};
    }
  }
  return best;
}

void UpdateClock(abi::LaneClock& clock, abi::CounterKind counter) {
  const abi::ClockPair now = PairClocks(counter);
  WriteSequenced(clock.sequence, [&clock, counter, &now] {
    if (clock.counter == abi::kCounterNone) {
      clock.counter = counter;
      clock.nominal_hz = NominalHz(counter);
      clock.first = now;
    }
    clock.latest = now;
  });
}

}  // namespace profd::agent
