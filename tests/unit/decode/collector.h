// Keeps what a decoder gives out.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "format/decode/decoder.h"
#include "format/events/spans.h"
#include "format/series.h"

namespace profd::format {

struct CollectedRow {
  std::string series;
  uint64_t wall_ns = 0;
  std::vector<int64_t> keys;
  std::vector<double> values;
};
struct CollectedSpan {
  Span span;
  std::string name, category;
  std::map<std::string, std::string> args;  // texts as such, numbers in decimal
  TaskDetail detail;
};

class Collector : public RowSink, public SpanSink {
 public:
  void Label(const Series& series, int, size_t key, int64_t value, std::string_view text) override {
    labels[{std::string(series.name), key, value}] = text;
  }
  void Rows(const RowBatch& batch) override {
    const size_t keys = batch.series->keys.size(), columns = batch.series->columns.size();
    for (size_t i = 0; i < batch.rows(); ++i) {
      rows.push_back({std::string(batch.series->name),
                      batch.wall_ns[i],
                      {batch.keys.begin() + static_cast<ptrdiff_t>(i * keys),
                       batch.keys.begin() + static_cast<ptrdiff_t>((i + 1) * keys)},
                      {batch.values.begin() + static_cast<ptrdiff_t>(i * columns),
                       batch.values.begin() + static_cast<ptrdiff_t>((i + 1) * columns)}});
    }
  }
  void Process(const SpanProcess& process) override { processes.push_back(std::string(process.name)); }
  void Thread(const SpanThread& thread) override { threads[thread.tid] = thread.name; }
  void Spans(const SpanBatch& batch) override {
    for (const Span& span : batch.spans) {
      CollectedSpan copy{span,
                         std::string(batch.texts->Get(span.name)),
                         std::string(batch.texts->Get(span.category)),
                         {},
                         {}};
      for (const SpanArg& arg : batch.ArgsOf(span)) {
        copy.args[std::string(batch.texts->Get(arg.key))] =
            arg.type == ArgType::kText  ? std::string(batch.texts->Get(static_cast<TextId>(arg.bits)))
            : arg.type == ArgType::kF64 ? std::to_string(std::bit_cast<double>(arg.bits))
            : arg.type == ArgType::kI64 ? std::to_string(static_cast<int64_t>(arg.bits))
                                        : std::to_string(arg.bits);
      }
      if (const TaskDetail* detail = batch.DetailOf(span)) copy.detail = *detail;
      spans.push_back(copy);
    }
  }

  std::vector<CollectedRow> rows;
  std::vector<CollectedSpan> spans;
  std::map<std::tuple<std::string, size_t, int64_t>, std::string> labels;
  std::map<int64_t, std::string> threads;
  std::vector<std::string> processes;
};

}  // namespace profd::format
