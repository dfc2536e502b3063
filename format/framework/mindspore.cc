#include "format/framework/mindspore.h"

#include <algorithm>
#include <array>
#include <span>

#include "format/framework/fields.h"
#include "format/records/packed.h"

namespace profd::format::framework {
namespace {

#pragma pack(push, 1)
struct NewRecord {
  uint64_t tid, flow, step, start, end;
  int32_t pid;
  uint16_t module, event, stage;
  int8_t level;
  uint8_t is_graph, is_stage, is_python;
};
struct OldRecord {
  int64_t start, end, sequence;
  uint64_t pid, tid, end_tid, forward_tid, flow, step;
  int8_t level;
  uint8_t is_async;
};
#pragma pack(pop)
static_assert(sizeof(NewRecord) == 54 && sizeof(OldRecord) == 74);

enum class NewField : uint16_t { kName = 13, kFullName, kModule, kEvent, kCustom };
enum class OldField : uint16_t { kName = 3, kTypes, kShapes, kStack, kModules, kFlops, kCustom };
enum class ShapesField : uint16_t { kName, kShapes, kTypes };

constexpr std::string_view kStages[] = {"Default",      "Python",    "Capture", "RunGraph",
                                        "RunGrad",      "RunOp",     "Asnumpy", "CompileGradGraph",
                                        "WaitPipeline", "SyncStream"};
constexpr std::string_view kModules[] = {
    "Default", "GraphExecutorPy", "RuntimeFramework", "PynativeFramework",
    "Kernel",  "Python",          "Capture",          "Other"};
constexpr std::string_view kEvents[] = {"Default",
                                        "KernelInfer",
                                        "KernelResize",
                                        "KernelInferAndResize",
                                        "KernelLaunch",
                                        "KernelLaunckCallback",
                                        "KernelUpdate",
                                        "KernelPrepareData",
                                        "GraphLaunch",
                                        "InputProcess",
                                        "OutputProcess",
                                        "WaitTaskFinish",
                                        "PreLaunch",
                                        "PostLaunch",
                                        "SendOutput",
                                        "MemoryAlloc",
                                        "MemoryFree",
                                        "CopyData",
                                        "StreamSync",
                                        "ProcessMultiStream",
                                        "WaitKernelsInferFinish",
                                        "WaitKernelsResizeFinish",
                                        "WaitKernelsLaunchFinish",
                                        "KernelInferInner",
                                        "KernelInferDataSync",
                                        "KernelResizeInner",
                                        "KernelLaunchInner",
                                        "BackendGraphRunInner",
                                        "RunOp",
                                        "PyNativeFrontendTask",
                                        "PyNativeBackendTask",
                                        "PyNativeDeviceTask",
                                        "PyNativeLaunchTask",
                                        "PyNativeBpropTask",
                                        "Wait",
                                        "PyNativeGilAcquire",
                                        "PyNativeCast",
                                        "PyNativeInfer",
                                        "PyNativeOpCompile",
                                        "PyNativeGradExpander",
                                        "PyNativeGradUpdateSens",
                                        "PyNativeGradClearTopCell",
                                        "PyNativeGradClearAutoGradCell",
                                        "PyBoostInferOutput",
                                        "PyBoostInferByOpDef",
                                        "PyBoostCreateOutputTensor",
                                        "PyBoostDeviceTask",
                                        "PyBoostMallocInput",
                                        "PyBoostMallocOutput",
                                        "PyBoostLaunchAclnn",
                                        "PyBoostLaunchAtb",
                                        "PyNativeNewGraph",
                                        "PyNativeEndGraph",
                                        "PythonObserved",
                                        "CaptureRunGraph",
                                        "CaptureProcess",
                                        "CaptureCompile",
                                        "CaptureGuard",
                                        "AclnnHitCacheStage1",
                                        "AclnnHitCacheStage2",
                                        "AclnnMissCacheStage1",
                                        "AclnnMissCacheStage2",
                                        "AclnnUpdateAddress",
                                        "AclnnRunOp",
                                        "RunExpanderFunc",
                                        "EmitOp",
                                        "Execute",
                                        "ReleaseResource",
                                        "NativeFunc"};

std::string Word(std::span<const std::string_view> words, uint16_t index) {
  return std::string(words[index < words.size() ? index : 0]);
}

// Whether what is behind the fixed part is fields with these numbers, to the end.
bool Fits(Bytes value, size_t fixed, uint16_t first, uint16_t last) {
  if (value.size() < fixed) return false;
  bool is_known = true;
  const bool is_whole = EachField(value.subspan(fixed), [&](uint16_t id, std::string_view) {
    is_known = is_known && first <= id && id <= last;
  });
  return is_whole && is_known;
}

int64_t Stamp(uint64_t count) { return static_cast<int64_t>(std::min<uint64_t>(count, INT64_MAX)); }

MsRange OfNew(Bytes value) {
  const auto record = Load<NewRecord>(value.data());
  MsRange range;
  range.start = Stamp(record.start);
  range.end = Stamp(record.end);
  range.tid = record.tid;
  range.flow = record.flow;
  range.step = record.step;
  range.pid = record.pid > 0 ? static_cast<uint64_t>(record.pid) : 0;
  range.module = record.module;
  range.event = record.event;
  range.stage = record.stage;
  range.is_graph = record.is_graph != 0;
  range.is_stage = record.is_stage != 0;
  range.is_python = record.is_python != 0;
  range.is_torn = !EachField(value.subspan(sizeof(record)), [&range](uint16_t id, std::string_view text) {
    switch (NewField{id}) {
      case NewField::kName:
        range.name = text;
        return;
      case NewField::kFullName:
        range.full_name = text;
        return;
      case NewField::kModule:
        range.graph_module = text;
        return;
      case NewField::kEvent:
        range.graph_event = text;
        return;
      case NewField::kCustom:
        range.custom = text;
        return;
    }
  });
  return range;
}

MsRange OfOld(Bytes value) {
  const auto record = Load<OldRecord>(value.data());
  MsRange range;
  range.start = record.start;
  range.end = record.end;
  range.pid = record.pid;
  range.tid = record.tid;
  range.flow = record.flow;
  range.step = record.step;
  range.is_torn = !EachField(value.subspan(sizeof(record)), [&range](uint16_t id, std::string_view text) {
    switch (OldField{id}) {
      case OldField::kName:
        range.name = range.full_name = text;
        return;
      case OldField::kTypes:
        range.types = text;
        return;
      case OldField::kShapes:
        range.shapes = text;
        return;
      case OldField::kStack:
        range.stack = text;
        return;
      case OldField::kCustom:
        range.custom = text;
        return;
      case OldField::kModules:
      case OldField::kFlops:
        return;
    }
  });
  range.is_old = true;
  return range;
}

}  // namespace

std::string MsRange::Name() const {
  if (is_python) return std::string(name);
  if (is_graph) return std::string(graph_module) + "::" + std::string(graph_event) + "::" + std::string(name);
  if (is_stage) return Word(kStages, stage);
  if (name == "flow" || is_old) return std::string(full_name);
  return Word(kModules, module) + "::" + Word(kEvents, event) + "::" + std::string(full_name);
}

std::optional<MsLayout> MsLayoutOf(Bytes value) {
  if (Fits(value, sizeof(NewRecord), static_cast<uint16_t>(NewField::kName),
           static_cast<uint16_t>(NewField::kCustom)))
    return MsLayout::kNew;
  if (Fits(value, sizeof(OldRecord), static_cast<uint16_t>(OldField::kName),
           static_cast<uint16_t>(OldField::kCustom)))
    return MsLayout::kOld;
  return std::nullopt;
}

std::optional<MsRange> ParseMsRange(Bytes value, MsLayout layout) {
  if (value.size() < (layout == MsLayout::kNew ? sizeof(NewRecord) : sizeof(OldRecord))) return std::nullopt;
  return layout == MsLayout::kNew ? OfNew(value) : OfOld(value);
}

MsShapes ParseMsShapes(Bytes value) {
  MsShapes shapes;
  shapes.is_torn = !EachField(value, [&shapes](uint16_t id, std::string_view text) {
    switch (ShapesField{id}) {
      case ShapesField::kName:
        shapes.name = text;
        return;
      case ShapesField::kShapes:
        shapes.shapes = text;
        return;
      case ShapesField::kTypes:
        shapes.types = text;
        return;
    }
  });
  return shapes;
}

}  // namespace profd::format::framework
