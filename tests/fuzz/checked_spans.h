// Spans as an output needs them, whatever they were decoded from.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "format/events/spans.h"

namespace profd::format {

class Checked : public SpanSink {
 public:
  void Spans(const SpanBatch& batch) override {
    for (const Span& span : batch.spans) {
      PROFD_CHECK(span.begin_ns <= span.end_ns);
      PROFD_CHECK(span.first_arg + span.arg_count <= batch.args.size());
      PROFD_CHECK(span.name < batch.texts->size() && span.category < batch.texts->size());
      for (const SpanArg& arg : batch.ArgsOf(span)) {
        PROFD_CHECK(arg.key < batch.texts->size());
        PROFD_CHECK(arg.type != ArgType::kText || arg.bits < batch.texts->size());
      }
      ++spans;
    }
  }
  size_t spans = 0;
};

}  // namespace profd::format
