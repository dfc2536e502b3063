// The records of FRAMEWORK/ of an *_ascend_ms folder, as MindSpore's profiler writes them
// (mindspore/ccsrc/debug/profiler/report_data.h,
// python/mindspore/profiler/analysis/parser/timeline_event/fwk_event.py). Rows are as those of records.h:
// head, fixed part, fields.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "format/framework/records.h"

namespace profd::format::framework {

// Two releases, which nothing but the lengths of rows and the numbers of fields tells apart.
enum class MsLayout : uint8_t { kNew, kOld };
// Of the first row that fits one of them; nullopt: it fits neither.
std::optional<MsLayout> MsLayoutOf(Bytes value);

// mindspore.op_range: something that the framework did, or a function of Python.
struct MsRange {
  static constexpr uint64_t kNoFlow = UINT64_MAX;
  int64_t start = 0, end = 0;  // counts of the CPU
  uint64_t tid = 0, flow = kNoFlow, step = 0;
  uint64_t pid = 0;  // 0 of functions of Python
  uint16_t module = 0, event = 0, stage = 0;
  bool is_graph = false, is_stage = false, is_python = false, is_torn = false;
  bool is_old = false;  // of the older release, whose names are whole
  std::string_view name, full_name, graph_module, graph_event, custom, types, shapes, stack;

  // As MindSpore shows it.
  std::string Name() const;
  // Where a flow begins that another row with its number ends.
  bool BeginsFlow() const { return Name() == "flow"; }
};
std::optional<MsRange> ParseMsRange(Bytes value, MsLayout layout);  // nullopt: too short

// mindspore.record_shapes: what an operator got.
struct MsShapes {
  std::string_view name, shapes, types;
  bool is_torn = false;
};
MsShapes ParseMsShapes(Bytes value);

}  // namespace profd::format::framework
