// One wake-up of the sampler. All rows of a tick carry the same stamp, whatever file they go to.
#pragma once

#include <cstdint>

namespace profd::host {

struct Tick {
  uint64_t number = 0;   // counts from 1; what was read once in a tick is not read again
  uint64_t raw_ns = 0;   // CLOCK_MONOTONIC_RAW: the stamp of the rows
  uint64_t mono_ns = 0;  // CLOCK_MONOTONIC: the clock of the deadlines
};

}  // namespace profd::host
