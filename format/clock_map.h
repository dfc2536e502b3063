// Pairs of clock readings and the map between host raw time, device time and wall time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace profd::format {

// Host and device clocks read at one instant (the vendor's host_start.log.N and dev_start.log.N).
struct ClockPair {
  uint64_t host_raw_ns = 0;     // CLOCK_MONOTONIC_RAW
  uint64_t host_counter = 0;    // TSC / CNTVCT_EL0
  uint64_t wall_ns = 0;         // CLOCK_REALTIME
  uint64_t device_raw_ns = 0;   // the device's CLOCK_MONOTONIC_RAW; 0 for a host-only pair
  uint64_t device_counter = 0;  // SYS_COUNT ticks
  uint64_t error_ns = 0;        // half the width of the bracket around the device calls
};

// A point in time on another clock, and how far off it may be.
struct ClockReading {
  uint64_t ns = 0;
  uint64_t error_ns = 0;
};

enum class Clock : uint8_t { kHostRaw, kHostCounter, kDeviceNs, kDeviceTicks };
inline constexpr size_t kClocks = 4;

// Which lines the conversion before used: that of the next stamp nearly always is on the same ones. Of one
// map and clock. **Thread:** one.
struct ClockMemo {
  struct Line {
    uint64_t first = 1, last = 0;  // stamps that are on it
    uint64_t from = 0, to = 0;
    double slope = 1;
  };
  Line to_raw, to_wall;
};

// Translates between the clocks of one device and its host: a line between every two neighbouring pairs, so
// that drift is followed; beyond the outermost pairs the neighbouring line goes on, with a growing error.
// **Thread:** any, while nobody adds. Every conversion is total; without a pair the answer is 0 with the
// widest error.
class ClockMap {
 public:
  // A counter whose frequency is 0 or absurd is in ns already (the vendor's "frequency unknown").
  ClockMap(double device_counter_mhz, double host_counter_mhz);

  // In any order. A pair with the host clock of an earlier one replaces it.
  void Add(const ClockPair& pair);
  size_t pair_count() const { return pairs_.size(); }

  ClockReading HostRawToWall(uint64_t host_raw_ns) const;
  ClockReading HostCounterToWall(uint64_t ticks) const;
  ClockReading DeviceNsToWall(uint64_t device_raw_ns) const;
  ClockReading DeviceTicksToWall(uint64_t ticks) const;

  // The same as the four above, without the error.
  uint64_t ToWall(Clock clock, uint64_t stamp, ClockMemo& memo) const;

  ClockReading HostCounterToRaw(uint64_t ticks) const;
  ClockReading DeviceNsToHostRaw(uint64_t device_raw_ns) const;
  ClockReading DeviceTicksToHostRaw(uint64_t ticks) const;

 private:
  ClockReading ToHostRaw(uint64_t stamp, uint64_t ClockPair::*clock, double nominal_ns_per_unit) const;
  ClockReading ThenWall(ClockReading host_raw) const;

  std::vector<ClockPair> pairs_;  // ascending host_raw_ns
  double device_tick_ns_;
  double host_tick_ns_;
};

}  // namespace profd::format
