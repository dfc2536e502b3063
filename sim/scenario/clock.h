// The simulated device's clocks as functions of the host's CLOCK_MONOTONIC_RAW, and the host's cycle counter.
#pragma once

#include <cstdint>
#include <ctime>
#include <mutex>

namespace profd::sim {

inline uint64_t RawNs() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_RAW, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(now.tv_nsec);
}

// Device monotonic raw = host raw · (1 + drift) + offset; counter = that at the chip's frequency.
// **Thread:** any (immutable).
class DeviceClock {
 public:
  DeviceClock(int64_t offset_ns, double drift_ppm, uint32_t counter_khz);

  uint64_t DeviceNs(uint64_t host_raw_ns) const;
  uint64_t HostNs(uint64_t device_ns) const;  // the inverse
  uint64_t Ticks(uint64_t device_ns) const;
  uint64_t TicksAtHost(uint64_t host_raw_ns) const { return Ticks(DeviceNs(host_raw_ns)); }

 private:
  int64_t offset_ns_;
  int64_t drift_ppb_;
  uint32_t counter_khz_;
};

// The host's cycle counter (TSC, CNTVCT_EL0): its frequency measured against CLOCK_MONOTONIC_RAW, and its
// value at a given raw time. **Thread:** any; the first question may wait until the measurement spans
// kMeasureNs.
class HostCounter {
 public:
  HostCounter();

  int64_t Khz() const;                           // 0: this machine has no readable counter
  uint64_t ValueAt(uint64_t host_raw_ns) const;  // raw ns itself where there is no counter

  static uint64_t Read();

 private:
  struct Pair {
    uint64_t raw_ns, count;
  };
  static Pair ReadPair();
  double Hz() const;
  double Measure() const;

  Pair start_;
  mutable std::once_flag measured_;
  mutable double hz_ = 0;
};

}  // namespace profd::sim
