// The clocks profd reads. Host time inside profd is CLOCK_MONOTONIC_RAW in nanoseconds unless a name says
// otherwise.
#pragma once

#include <cstdint>
#include <ctime>

namespace profd::base {

inline uint64_t ReadClockNs(clockid_t id) {
  timespec now{};
  ::clock_gettime(id, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}
inline uint64_t RawNs() { return ReadClockNs(CLOCK_MONOTONIC_RAW); }
inline uint64_t MonotonicNs() { return ReadClockNs(CLOCK_MONOTONIC); }
inline uint64_t WallNs() { return ReadClockNs(CLOCK_REALTIME); }

// The host's cycle counter as the vendor's files name it (cntvct): TSC on x86-64, CNTVCT_EL0 on aarch64, else
// 0.
inline uint64_t HostCounter() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t value;
  asm volatile("isb; mrs %0, cntvct_el0" : "=r"(value)::"memory");
  return value;
#else
  return 0;
#endif
}

}  // namespace profd::base
