// The layout headers are C too.
#include "libagent/abi/lane.h"
#include "profd/agent.h"

uint64_t RegionBytesFromC(uint32_t lanes, uint32_t slots, uint32_t names_bytes);
uint64_t RegionBytesFromC(uint32_t lanes, uint32_t slots, uint32_t names_bytes) {
  return GeometryIsValid(lanes, slots, names_bytes) ? RegionBytes(lanes, slots, names_bytes) : 0;
}

void MarkFromC(void);
void MarkFromC(void) {
  PROFD_MARK("from C");
  PROFD_RANGE_PUSH("range from C");
  PROFD_RANGE_POP();
  PROFD_COUNTER("counter from C", -7);
}
