// The records of FRAMEWORK/ of an *_ascend_pt folder, as torch_npu's profiler writes them (Ascend/pytorch,
// torch_npu/profiler/analysis/prof_bean, prof_common_func/_tlv_decoder.py). Most files are rows of "u16 type,
// u32 length, value"; a value is a fixed part and then fields of the same form. All is little endian and
// packed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace profd::format::framework {

using Bytes = std::span<const std::byte>;

inline constexpr size_t kHeadBytes = 6;
// Head and value of the row that begins there; 0: its head is not all there.
uint64_t RowBytes(Bytes bytes);
// Behind the head of a whole row.
inline Bytes ValueOf(Bytes row) { return row.subspan(kHeadBytes); }

// Texts lie in the value that was parsed. `is_torn`: a field goes beyond the end of its row; what was before
// it is there.

// torch.op_range: a call of an operator, or a range that the program named.
struct OpRange {
  int64_t start = 0, end = 0, sequence = -1;  // -1: none
  uint64_t pid = 0, start_tid = 0, end_tid = 0, forward_tid = 0;
  uint8_t scope = 0;
  bool is_async = false, is_torn = false;
  std::string_view name, types, dims, stack, modules, flops;
  bool has_types = false, has_dims = false, has_stack = false, has_modules = false, has_flops = false;
};
std::optional<OpRange> ParseOpRange(Bytes value);  // nullopt: too short

// torch.op_mark: begins and ends of what goes through the queue between the program and the device.
struct OpMark {
  enum class Kind : uint8_t { kEnqueueStart, kEnqueueEnd, kDequeueStart, kDequeueEnd };
  int64_t time = 0;
  Kind kind = Kind::kEnqueueStart;
  uint64_t correlation = 0, tid = 0, pid = 0;
  std::string_view name;
  bool is_torn = false;
};
std::optional<OpMark> ParseOpMark(Bytes value);  // nullopt: too short, or of no kind

// torch.memory_usage: a change of what an allocator holds.
struct MemoryUse {
  enum class Kind : uint8_t { kMalloc, kFree, kBlockFree };
  static constexpr int8_t kNpu = 20;
  int64_t address = 0, time = 0, bytes = 0, allocated = 0, reserved = 0, active = 0, stream = 0;
  int8_t device_type = 0, device = 0;
  bool is_workspace = false, is_inner = true;  // inner: of the framework's own allocator
  Kind kind = Kind::kMalloc;
  uint64_t tid = 0, pid = 0;
};
std::optional<MemoryUse> ParseMemoryUse(Bytes value);  // nullopt: too short, or of no kind

// torch.python_tracer_hash: what a key of PythonCall stands for.
struct PythonName {
  uint64_t key = 0;
  std::string_view text;
  bool is_torn = false;
};
std::optional<PythonName> ParsePythonName(Bytes value);

// torch.gc_record: rows of 24 bytes without a head.
struct GcRun {
  static constexpr size_t kBytes = 24;
  uint64_t pid = 0;
  int64_t start = 0, end = 0;
};
GcRun ParseGcRun(Bytes row);

// torch.python_tracer_func: rows of 33 bytes without a head.
struct PythonCall {
  static constexpr size_t kBytes = 33;
  enum class Kind : uint8_t { kCall, kReturn, kNativeCall, kNativeReturn };
  int64_t time = 0;
  uint64_t tid = 0, pid = 0, key = 0;
  Kind kind = Kind::kCall;
};
std::optional<PythonCall> ParsePythonCall(Bytes row);  // nullopt: of no kind

}  // namespace profd::format::framework
