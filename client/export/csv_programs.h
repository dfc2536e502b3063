// Tables of what programs recorded and the vendor has no tables for: steps, counters, memory; and of a
// device's iterations.
#pragma once

#include <cstdint>

#include "client/export/csv_tables.h"
#include "client/export/reorder.h"
#include "format/spans.h"

namespace profd::client {

// **Thread:** one.
class CsvPrograms {
 public:
  explicit CsvPrograms(const CsvContext& context) : context_(context) {}
  void Add(const format::SpanBatch& batch, const format::Span& span);
  void Finish();

 private:
  struct Row {
    uint64_t begin_ns, end_ns, value;
    int64_t pid, tid;
    int32_t device;
    format::TextId name, category;
    format::SpanKind kind;
    uint64_t bytes;
    uint64_t forward_ns, backward_ns, before_ns;  // of an iteration; 0 = not known
    uint32_t model;
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
