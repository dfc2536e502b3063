#include "format/events/spans.h"

namespace profd::format {

std::string_view SpanKindName(SpanKind kind) {
  constexpr std::string_view kNames[kSpanKinds] = {
      "task", "api",    "os-call",   "step",    "range",   "mark",      "counter",  "kernel",
      "comm", "memory", "comm-part", "overlap", "mission", "op-memory", "fused-op", "table-row"};
  size_t number = static_cast<size_t>(kind);
  return number < kSpanKinds ? kNames[number] : "?";
}

}  // namespace profd::format
