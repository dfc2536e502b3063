// Spans on their way from a decoder to a sink.
#pragma once

#include <bit>
#include <string_view>

#include "format/events/spans.h"

namespace profd::format {

// Collects spans and hands them on, many at once. **Thread:** one. **Owns:** one batch.
class SpanWriter {
 public:
  static constexpr size_t kSpansPerBatch = 512;

  // `kind`: SpanBatch::kind.
  SpanWriter(SpanSink& sink, Texts& texts, std::string_view kind = {}) : sink_(sink), texts_(texts) {
    batch_.texts = &texts;
    batch_.kind = kind;
  }

  Texts& texts() { return texts_; }
  SpanSink& sink() { return sink_; }
  // A span to fill in; good until the next call.
  Span& Add(SpanKind kind) {
    if (batch_.spans.size() >= kSpansPerBatch) Flush();
    Span& span = batch_.spans.emplace_back();
    span.kind = kind;
    span.first_arg = static_cast<uint32_t>(batch_.args.size());
    return span;
  }
  // Of the span added last.
  TaskDetail& AddDetail() {
    batch_.spans.back().detail = static_cast<uint32_t>(batch_.tasks.size());
    return batch_.tasks.emplace_back();
  }
  // Of the detail added last.
  void AddCounters(const TaskCounters& counters) {
    batch_.tasks.back().counters = static_cast<uint32_t>(batch_.counters.size());
    batch_.counters.push_back(counters);
  }
  void AddArg(TextId key, ArgType type, uint64_t bits) {
    batch_.args.push_back({key, type, bits});
    ++batch_.spans.back().arg_count;
  }
  void AddArg(TextId key, std::string_view text) { AddArg(key, ArgType::kText, texts_.Intern(text)); }
  void Flush() {
    if (!batch_.spans.empty()) sink_.Spans(batch_);
    batch_.Clear();
  }

 private:
  SpanSink& sink_;
  Texts& texts_;
  SpanBatch batch_;
};

}  // namespace profd::format
