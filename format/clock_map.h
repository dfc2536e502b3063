// Pairs of clock readings and the map between host raw time, device time and wall time.
#pragma once

#include <cstdint>
#include <string>

namespace profd::format {

// Host and device clocks read at one instant (the vendor's host_start.log.N and dev_start.log.N).
struct ClockPair {
  uint64_t host_raw_ns = 0;    // CLOCK_MONOTONIC_RAW
  uint64_t host_counter = 0;   // TSC / CNTVCT_EL0
  uint64_t wall_ns = 0;        // CLOCK_REALTIME
  uint64_t device_raw_ns = 0;  // the device's CLOCK_MONOTONIC_RAW; 0 for a host-only pair
  uint64_t device_counter = 0; // SYS_COUNT ticks
  uint64_t error_ns = 0;       // half the width of the bracket around the device calls
};

}  // namespace profd::format
