// When this process recorded, for records that come later than what they tell of.
#pragma once

#include <cstdint>

namespace profd::agent {

// By CLOCK_REALTIME, which may step, and by base::RawNs, which does not.
struct Moment {
  uint64_t wall_ns;
  uint64_t raw_ns;
};
Moment Now();

// When a buffer was handed out and when it came back: what it holds was written between.
struct Filled {
  Moment from;
  Moment to;
};

// **Thread:** any, one at a time.
void SpanBegins(const Moment& now = Now());
void SpanEnds(const Moment& now = Now());
// Whether a recording ran at some time between the two CLOCK_REALTIME stamps of a record, however long ago
// that is. Stamps that are seconds away from when their buffer was filled come from clocks that stepped; then
// it is whether one ran meanwhile. **Thread:** any.
bool WasRecording(uint64_t begin_ns, uint64_t end_ns, const Filled& filled);

}  // namespace profd::agent
