// The tables of what CANN's own collector records of operators beside their tasks: memory_record, all memory
// that was taken and given back; operator_memory, what of it belongs together; fusion_op, of which others one
// was made; static_op_mem, what a graph's operators need; and what its AI CPUs tell of queues of data, dp and
// aicpu_mi.
#pragma once

#include <cstdint>
#include <map>
#include <string_view>
#include <tuple>

#include "client/export/views/csv_tables.h"
#include "format/events/spans.h"

namespace profd::client {

// **Thread:** one.
class CsvOperators {
 public:
  explicit CsvOperators(const CsvContext& context) : context_(context) {}
  // In the order of their records.
  void AddMemory(const format::SpanBatch& batch, const format::Span& span);
  void AddFused(const format::SpanBatch& batch, const format::Span& span);
  void AddRow(const format::SpanBatch& batch, const format::Span& span);
  // What is still held.
  void Finish();
  // There was no room to remember them until they are given back.
  uint64_t left_out() const { return left_out_; }

 private:
  static constexpr size_t kMostHeld = 1 << 20;

  struct Held {
    int32_t device = 0;
    format::TextId name = 0;
    uint64_t address = 0;
    bool operator<(const Held& other) const {
      return std::tie(device, name, address) < std::tie(other.device, other.name, other.address);
    }
  };
  struct Moment {
    uint64_t wall_ns = 0;
    int64_t size = 0;
    uint64_t allocated = 0, reserved = 0;
  };
  void WriteRecord(std::string_view component, int device, const Moment& at);
  // `given_back`: nullptr = never.
  void WriteHeld(const Held& what, const Moment& taken, const Moment* given_back);

  const CsvContext& context_;
  const format::Texts* texts_ = nullptr;
  std::map<Held, Moment> held_;
  uint64_t left_out_ = 0;
};

}  // namespace profd::client
