#include "format/decode/cann/operator_records.h"

#include <bit>
#include <string>

namespace profd::format {

OperatorRecords::OperatorRecords(CannNames& names, SpanWriter& spans, int64_t pid)
    : names_(names),
      spans_(spans),
      pid_(pid),
      component_(Key("GE")),  // it alone reports memory; so npu_op_mem_calculator.py
      static_table_(Key("static_op_mem")),
      column_key_(Key("column")),
      whole_graph_(Key("TOTAL")),
      size_key_(Key("size")),
      address_key_(Key("address")),
      allocated_key_(Key("total allocated")),
      reserved_key_(Key("total reserved")),
      parts_key_(Key("parts")),
      input_key_(Key("input")),
      output_key_(Key("output")),
      weight_key_(Key("weight")),
      workspace_key_(Key("workspace")),
      total_key_(Key("total")) {}

Span& OperatorRecords::Instant(SpanKind kind, const CannHead& head, uint64_t op_name, uint64_t wall_ns) {
  Span& span = spans_.Add(kind);
  span.begin_ns = span.end_ns = wall_ns;
  span.pid = pid_;
  span.tid = head.thread;
  span.name = names_.Hash(op_name);
  return span;
}

void OperatorRecords::Take(const CannMemory& record, uint64_t wall_ns) {
  Span& span = Instant(SpanKind::kOpMemory, record.head, record.op_name, wall_ns);
  span.device = static_cast<int32_t>(record.device);
  span.category = component_;
  spans_.AddArg(size_key_, ArgType::kI64, std::bit_cast<uint64_t>(record.size));
  spans_.AddArg(address_key_, ArgType::kU64, record.address);
  spans_.AddArg(allocated_key_, ArgType::kU64, record.allocated);
  spans_.AddArg(reserved_key_, ArgType::kU64, record.reserved);
}

void OperatorRecords::Take(const CannStaticMemory& record, uint64_t wall_ns) {
  Span& span = Instant(SpanKind::kTableRow, record.head, record.op_name, wall_ns);
  span.category = static_table_;
  spans_.AddArg(column_key_, ArgType::kText,
                record.op_name != 0 ? names_.Hash(record.op_name) : whole_graph_);
  spans_.AddArg(column_key_, ArgType::kText, record.model != 0 ? names_.Hash(record.model) : 0);
  spans_.AddArg(column_key_, ArgType::kU64, record.graph);
  spans_.AddArg(column_key_, ArgType::kU64, record.first);
  spans_.AddArg(column_key_, ArgType::kU64,
                record.last == CannStaticMemory::kToTheEnd ? kNoId : record.last);  // as the vendor prints it
  spans_.AddArg(column_key_, ArgType::kF64, std::bit_cast<uint64_t>(static_cast<double>(record.size)));
}

void OperatorRecords::Take(const CannModel& record) {
  if (TextId* name = models_.FindOrAdd(record.model)) *name = names_.Hash(record.name);
}

void OperatorRecords::Take(const CannFusedOp& record, const ModelCalls& calls, uint64_t wall_ns) {
  std::string parts;
  for (uint32_t i = 0; i < record.count; ++i) {
    if (i > 0) parts += ';';
    parts += spans_.texts().Get(names_.Hash(record.parts[i]));
  }
  Span& span = Instant(SpanKind::kFusedOp, record.head, record.op_name, wall_ns);
  const uint32_t model = calls.At(record.head.thread, record.head.stamp);
  const TextId* name = models_.Find(model);
  span.value = model;
  span.category = name != nullptr ? *name : 0;
  spans_.AddArg(parts_key_, parts);
  spans_.AddArg(input_key_, ArgType::kU64, record.input_bytes);
  spans_.AddArg(output_key_, ArgType::kU64, record.output_bytes);
  spans_.AddArg(weight_key_, ArgType::kU64, record.weight_bytes);
  spans_.AddArg(workspace_key_, ArgType::kU64, record.workspace_bytes);
  spans_.AddArg(total_key_, ArgType::kU64, record.total_bytes);
}

}  // namespace profd::format
