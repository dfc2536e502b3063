// Rows on their way from a decoder to a sink.
#pragma once

#include <initializer_list>
#include <span>

#include "format/decode/decoder.h"
#include "format/series.h"

namespace profd::format {

inline constexpr size_t kRowsPerBatch = 4096;

// Collects rows of one series and hands them on, many at once. **Thread:** one.
class Rows {
 public:
  Rows(const Series& series, const DecodeContext& context) : sink_(*context.rows) {
    batch_.series = &series;
    batch_.device = context.side->device;
    batch_.kind = context.kind;
    batch_.wall_ns.reserve(kRowsPerBatch);
    batch_.keys.reserve(kRowsPerBatch * series.keys.size());
    batch_.values.reserve(kRowsPerBatch * series.columns.size());
  }

  void Add(uint64_t wall_ns, std::initializer_list<int64_t> keys, std::span<const double> values) {
    batch_.wall_ns.push_back(wall_ns);
    for (const int64_t key : keys) batch_.keys.push_back(key);
    batch_.values.insert(batch_.values.end(), values.begin(), values.end());
    if (batch_.rows() >= kRowsPerBatch) Flush();
  }
  void Add(uint64_t wall_ns, std::initializer_list<int64_t> keys, std::initializer_list<double> values) {
    Add(wall_ns, keys, std::span(values.begin(), values.size()));
  }
  void Label(size_t key, int64_t value, std::string_view text) {
    sink_.Label(*batch_.series, batch_.device, key, value, text);
  }
  void Flush() {
    if (batch_.rows() > 0) sink_.Rows(batch_);
    batch_.Clear();
  }

 private:
  RowSink& sink_;
  RowBatch batch_;
};

}  // namespace profd::format
