#include "client/export/read/filter.h"

#include <algorithm>

namespace profd::client {

namespace {

constexpr uint64_t kSecond = 1'000'000'000;
// What a record may lie outside of the collection: buffers of the device that were not empty at its begin,
// clocks that were only read once.
constexpr uint64_t kMargin = 600 * kSecond;
constexpr uint64_t kLongest = uint64_t{400} * 86400 * kSecond;  // of a collection that has no end

}  // namespace

Sieve::Sieve(const Capture& capture, const Wanted& wanted, format::RowSink& rows, format::SpanSink& spans)
    : rows_(rows), spans_(spans), from_ns_(wanted.from_ns), to_ns_(wanted.to_ns) {
  const uint64_t begin = capture.begin_wall_ns();
  const uint64_t end = capture.end_wall_ns();
  if (begin == 0) return;
  first_possible_ = begin - std::min(begin, kMargin);
  last_possible_ = end > begin ? end + kMargin : begin + kLongest;
}

void Sieve::Rows(const format::RowBatch& batch) {
  const auto passes = [this](uint64_t ns) { return Possible(ns) && InTime(ns, ns); };
  if (std::all_of(batch.wall_ns.begin(), batch.wall_ns.end(), passes)) return rows_.Rows(batch);
  const size_t keys = batch.series->keys.size();
  const size_t columns = batch.series->columns.size();
  kept_rows_.Clear();
  kept_rows_.series = batch.series;
  kept_rows_.device = batch.device;
  kept_rows_.kind = batch.kind;
  for (size_t row = 0; row < batch.rows(); ++row) {
    const uint64_t ns = batch.wall_ns[row];
    if (!Possible(ns)) ++stray_;
    if (!passes(ns)) continue;
    kept_rows_.wall_ns.push_back(ns);
    const int64_t* key = batch.keys.data() + row * keys;
    kept_rows_.keys.insert(kept_rows_.keys.end(), key, key + keys);
    const double* value = batch.values.data() + row * columns;
    kept_rows_.values.insert(kept_rows_.values.end(), value, value + columns);
  }
  if (kept_rows_.rows() > 0) rows_.Rows(kept_rows_);
}

void Sieve::Spans(const format::SpanBatch& batch) {
  const auto passes = [this](const format::Span& span) {
    return Possible(span.begin_ns) && Possible(span.end_ns) && InTime(span.begin_ns, span.end_ns);
  };
  if (std::all_of(batch.spans.begin(), batch.spans.end(), passes)) return spans_.Spans(batch);
  kept_spans_ = batch;
  kept_spans_.spans.clear();
  for (const format::Span& span : batch.spans) {
    if (!Possible(span.begin_ns) || !Possible(span.end_ns)) ++stray_;
    if (passes(span)) kept_spans_.spans.push_back(span);
  }
  if (!kept_spans_.spans.empty()) spans_.Spans(kept_spans_);
}

}  // namespace profd::client
