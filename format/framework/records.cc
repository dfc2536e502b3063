#include "format/framework/records.h"

#include "format/framework/fields.h"
#include "format/records/packed.h"

namespace profd::format::framework {
namespace {

constexpr size_t kLengthAt = 2;

#pragma pack(push, 1)
struct RangeRecord {
  int64_t start, end, sequence;
  uint64_t pid, start_tid, end_tid, forward_tid;
  uint8_t scope, is_async;
};
struct MarkRecord {
  int64_t time;
  uint64_t category, correlation, tid, pid;
};
struct MemoryRecord {
  int64_t address, time, bytes, allocated, reserved, active, stream;
  int8_t device_type, device;
  uint8_t component, kind, allocator;
  uint64_t tid, pid;
};
struct GcRecord {
  uint64_t pid;
  int64_t start, end;
};
struct CallRecord {
  int64_t time;
  uint64_t tid, pid, key;
  uint8_t tag;
};
#pragma pack(pop)
static_assert(sizeof(RangeRecord) == 58 && sizeof(MarkRecord) == 40 && sizeof(MemoryRecord) == 77);
static_assert(sizeof(GcRecord) == GcRun::kBytes && sizeof(CallRecord) == PythonCall::kBytes);

enum class RangeField : uint16_t { kName = 2, kTypes, kDims, kStack = 8, kModules, kFlops };
constexpr uint16_t kText = 1;  // of marks and names

// The text of the one field that a record has.
bool TakeText(Bytes fields, std::string_view& text) {
  return EachField(fields, [&text](uint16_t id, std::string_view field) {
    if (id == kText) text = field;
  });
}

}  // namespace

uint64_t RowBytes(Bytes bytes) {
  if (bytes.size() < kHeadBytes) return 0;
  return kHeadBytes + uint64_t{Load<uint32_t>(bytes.data() + kLengthAt)};
}

std::optional<OpRange> ParseOpRange(Bytes value) {
  if (value.size() < sizeof(RangeRecord)) return std::nullopt;
  const auto record = Load<RangeRecord>(value.data());
  OpRange range;
  range.start = record.start;
  range.end = record.end;
  range.sequence = record.sequence;
  range.pid = record.pid;
  range.start_tid = record.start_tid;
  range.end_tid = record.end_tid;
  range.forward_tid = record.forward_tid;
  range.scope = record.scope;
  range.is_async = record.is_async != 0;
  const auto take = [](std::string_view& into, bool& has, std::string_view text) {
    into = text;
    has = true;
  };
  range.is_torn =
      !EachField(value.subspan(sizeof(RangeRecord)), [&range, take](uint16_t id, std::string_view text) {
        switch (RangeField{id}) {
          case RangeField::kName:
            range.name = text;
            return;
          case RangeField::kTypes:
            return take(range.types, range.has_types, text);
          case RangeField::kDims:
            return take(range.dims, range.has_dims, text);
          case RangeField::kStack:
            return take(range.stack, range.has_stack, text);
          case RangeField::kModules:
            return take(range.modules, range.has_modules, text);
          case RangeField::kFlops:
            return take(range.flops, range.has_flops, text);
        }
      });
  return range;
}

std::optional<OpMark> ParseOpMark(Bytes value) {
  if (value.size() < sizeof(MarkRecord)) return std::nullopt;
  const auto record = Load<MarkRecord>(value.data());
  if (record.category > static_cast<uint64_t>(OpMark::Kind::kDequeueEnd)) return std::nullopt;
  OpMark mark;
  mark.time = record.time;
  mark.kind = static_cast<OpMark::Kind>(record.category);
  mark.correlation = record.correlation;
  mark.tid = record.tid;
  mark.pid = record.pid;
  mark.is_torn = !TakeText(value.subspan(sizeof(MarkRecord)), mark.name);
  return mark;
}

std::optional<MemoryUse> ParseMemoryUse(Bytes value) {
  if (value.size() < sizeof(MemoryRecord)) return std::nullopt;
  const auto record = Load<MemoryRecord>(value.data());
  if (record.kind > static_cast<uint8_t>(MemoryUse::Kind::kBlockFree)) return std::nullopt;
  MemoryUse use;
  use.address = record.address;
  use.time = record.time;
  use.bytes = record.bytes;
  use.allocated = record.allocated;
  use.reserved = record.reserved;
  use.active = record.active;
  use.stream = record.stream;
  use.device_type = record.device_type;
  use.device = record.device;
  use.is_workspace = record.component == 1;
  use.kind = static_cast<MemoryUse::Kind>(record.kind);
  use.is_inner = record.allocator == 0;
  use.tid = record.tid;
  use.pid = record.pid;
  return use;
}

std::optional<PythonName> ParsePythonName(Bytes value) {
  if (value.size() < sizeof(uint64_t)) return std::nullopt;
  PythonName name;
  name.key = Load<uint64_t>(value.data());
  name.is_torn = !TakeText(value.subspan(sizeof(uint64_t)), name.text);
  return name;
}

GcRun ParseGcRun(Bytes row) {
  const auto record = Load<GcRecord>(row.data());
  return {record.pid, record.start, record.end};
}

std::optional<PythonCall> ParsePythonCall(Bytes row) {
  const auto record = Load<CallRecord>(row.data());
  if (record.tag > static_cast<uint8_t>(PythonCall::Kind::kNativeReturn)) return std::nullopt;
  return PythonCall{record.time, record.tid, record.pid, record.key,
                    static_cast<PythonCall::Kind>(record.tag)};
}

}  // namespace profd::format::framework
