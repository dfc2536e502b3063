// What CANN's own collector records of operators beside their tasks: the memory that they took, and of which
// others one was made.
#pragma once

#include <cstdint>

#include "base/flat_map.h"
#include "format/decode/cann/cann_names.h"
#include "format/decode/cann/model_calls.h"
#include "format/decode/span_writer.h"
#include "format/records/cann.h"

namespace profd::format {

// What no collector writes.
inline bool IsDamage(const CannMemory& record) {
  constexpr uint32_t kMostDevice = 0xFFFF;
  return record.head.magic != kCannMagic || record.device > kMostDevice;
}
inline bool IsDamage(const CannFusedOp& record) {
  return record.head.magic != kCannMagic || record.count > CannFusedOp::kMostParts;
}
inline bool IsDamage(const CannStaticMemory& record) { return record.head.magic != kCannMagic; }
inline bool IsDamage(const CannLogicStream& record) {
  return record.head.magic != kCannMagic || record.count > CannLogicStream::kMost;
}
inline bool IsDamage(const CannModel& record) { return record.head.magic != kCannMagic; }

// **Thread:** one.
class OperatorRecords {
 public:
  OperatorRecords(CannNames& names, SpanWriter& spans, int64_t pid);

  // Gives an instant of kOpMemory.
  void Take(const CannMemory& record, uint64_t wall_ns);
  // Gives a row of static_op_mem.
  void Take(const CannStaticMemory& record, uint64_t wall_ns);
  // What models are called: before what was built with them.
  void Take(const CannModel& record);
  // Gives an instant of kFusedOp, of the model whose call it was recorded in.
  void Take(const CannFusedOp& record, const ModelCalls& calls, uint64_t wall_ns);

 private:
  static constexpr size_t kMostModels = 1 << 16;

  TextId Key(std::string_view key) { return spans_.texts().Intern(key); }
  Span& Instant(SpanKind kind, const CannHead& head, uint64_t op_name, uint64_t wall_ns);

  CannNames& names_;
  SpanWriter& spans_;
  const int64_t pid_;
  base::FlatMap<TextId> models_{kMostModels};
  const TextId component_, static_table_, column_key_, whole_graph_, size_key_, address_key_, allocated_key_,
      reserved_key_;
  const TextId parts_key_, input_key_, output_key_, weight_key_, workspace_key_, total_key_;
};

}  // namespace profd::format
