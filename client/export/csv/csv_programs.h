// Tables of what programs recorded and the vendor has no tables for: steps, counters, memory; and of a
// device's iterations.
#pragma once

#include <cstdint>

#include "client/export/csv/reorder.h"
#include "client/export/views/csv_tables.h"
#include "format/events/spans.h"

namespace profd::client {

// **Thread:** one.
class CsvPrograms {
 public:
  explicit CsvPrograms(const CsvContext& context) : context_(context) {}
  void Add(const format::SpanBatch& batch, const format::Span& span);
  void Finish();

 private:
  struct Row {
    uint64_t begin_ns = 0, end_ns = 0, value = 0;
    int64_t pid = 0, tid = 0;
    int32_t device = -1;
    format::TextId name = 0, category = 0;
    format::SpanKind kind = format::SpanKind::kStep;
    uint64_t bytes = 0;
    uint64_t forward_ns = 0, backward_ns = 0, before_ns = 0;  // of an iteration; 0 = not known
    uint32_t model = format::kNoId;
    bool unfinished = false;
    format::TextId edge = 0;  // of a step; 0 = none
  };
  void Write(const Row& row);
  void WriteStep(const Row& row);
  void WriteIteration(const Row& row);
  void WriteCounter(const Row& row);
  void WriteMemory(const Row& row);
  // The columns in front of all of them.
  CsvFile* Open(std::string_view kind, std::string_view columns, const Row& row);

  const CsvContext& context_;
  const format::Texts* texts_ = nullptr;
  Reorder<Row> rows_;
};

}  // namespace profd::client
