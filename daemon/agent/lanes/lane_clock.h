// The clock of a process: what its stamps are ticks of.
#pragma once

#include "daemon/agent/lanes/region.h"
#include "libagent/abi/lane.h"

namespace profd::agent {

// A copy of the region's LaneClock: the process's word, whole unless it died while writing.
abi::LaneClock ReadClock(const Region& region);

// Length of a tick by the line through the two pairs, or by the nominal rate while they are the same; 0 = not
// known.
double NsPerTick(const abi::LaneClock& clock);

// CLOCK_MONOTONIC_RAW of a stamp, by the line through the two pairs (or the nominal rate while they are the
// same); 0 when the clock says nothing sensible.
uint64_t RawNsOf(const abi::LaneClock& clock, uint64_t ticks);

}  // namespace profd::agent
