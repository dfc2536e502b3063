// Labels of a session that begins at one instant on many nodes: what each clock was found to be.
#pragma once

namespace profd::remote {

// How far the node's clock is ahead of the clock that named the instant, and how wrong that may be; ns.
inline constexpr char kClockAhead[] = "clock_ahead_ns";
inline constexpr char kClockUncertainty[] = "clock_uncertainty_ns";

}  // namespace profd::remote
