// Numbers of the few fields of Perfetto's trace format that are written.
#pragma once

#include <cstdint>
#include <string_view>

namespace profd::client::pb {

// Trace, TracePacket
inline constexpr uint32_t kPacket = 1;
inline constexpr uint32_t kClockSnapshot = 6, kTimestamp = 8, kSequenceId = 10, kTrackEvent = 11,
                          kInternedData = 12, kSequenceFlags = 13, kTrackDescriptor = 60;
inline constexpr uint64_t kStateCleared = 1, kNeedsState = 2;
// ClockSnapshot, Clock
inline constexpr uint32_t kClocks = 1, kClockId = 1, kClockTimestamp = 2;
inline constexpr uint64_t kClockRealtime = 1, kClockBoottime = 6;
// TrackDescriptor, CounterDescriptor, ProcessDescriptor, ThreadDescriptor
inline constexpr uint32_t kTrackUuid = 1, kTrackName = 2, kTrackProcess = 3, kTrackThread = 4,
                          kTrackParent = 5, kTrackCounter = 8;
inline constexpr uint32_t kUnitName = 6;
inline constexpr uint32_t kProcessPid = 1, kProcessName = 6, kProcessLabels = 8;
inline constexpr uint32_t kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
// TrackEvent
inline constexpr uint32_t kAnnotations = 4, kEventType = 9, kNameIid = 10, kEventTrack = 11,
                          kDoubleCounter = 44, kFlows = 47, kTerminatingFlows = 48;
inline constexpr uint64_t kTypeBegin = 1, kTypeEnd = 2, kTypeInstant = 3, kTypeCounter = 4;
// DebugAnnotation
inline constexpr uint32_t kAnnotationNameIid = 1, kAnnotationUint = 3, kAnnotationInt = 4,
                          kAnnotationDouble = 5, kAnnotationStringIid = 17;
// InternedData; its entries
inline constexpr uint32_t kEventNames = 2, kAnnotationNames = 3, kAnnotationStrings = 29, kIid = 1, kName = 2;

}  // namespace profd::client::pb

namespace profd::client {

// Owners of tracks besides the layers (PerfettoOutput::TrackKey).
inline constexpr uint8_t kRoots = 100, kProcesses = 101, kThreads = 102, kParts = 103;
inline constexpr int64_t kArea = -1;

// Names of what spans have besides their own arguments; their numbers are known from the first packet on.
enum class SpanField : uint8_t {
  kNone,
  kLevel,
  kGroup,
  kDomain,
  kType,
  kTask,
  kCorrelation,
  kStep,
  kConnection,
  kBatch,
  kModel,
  kContext,
  kOpType,
  kInputShapes,
  kOutputShapes,
};
inline constexpr std::string_view kSpanFields[] = {
    "",           "level", "group", "domain",  "type",    "task",         "correlation",  "step",
    "connection", "batch", "model", "context", "op type", "input shapes", "output shapes"};
inline constexpr uint64_t kFirstText = 64;  // number of the first text

}  // namespace profd::client
