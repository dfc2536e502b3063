// When this process recorded, on the wall clock: for records that come later than what they tell of.
#pragma once

#include <cstdint>

namespace profd::agent {

// **Thread:** any, one at a time.
void SpanBegins();
void SpanEnds();
// Whether a recording ran at some time between the two CLOCK_REALTIME stamps. Stamps that are seconds away
// from now come from clocks that stepped; then it is whether one runs now. **Thread:** any.
bool WasRecording(uint64_t begin_ns, uint64_t end_ns);

}  // namespace profd::agent
