#include "format/events/spans.h"

#include <algorithm>

namespace profd::format {

std::string_view SpanKindName(SpanKind kind) {
  constexpr std::string_view kNames[kSpanKinds] = {
      "task", "api",    "os-call",   "step",    "range",   "mark",      "counter",  "kernel",
      "comm", "memory", "comm-part", "overlap", "mission", "op-memory", "fused-op", "table-row"};
  size_t number = static_cast<size_t>(kind);
  return number < kSpanKinds ? kNames[number] : "?";
}

bool SpanBatch::IsUnfinished(const Span& span) const {
  return std::ranges::any_of(ArgsOf(span),
                             [this](const SpanArg& arg) { return texts->Get(arg.key) == kUnfinished; });
}

}  // namespace profd::format
