// Spans as events of the vendor's timeline.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "client/export/chrome/chrome.h"
#include "client/export/views/device/core_metrics.h"
#include "client/export/write/number_text.h"

namespace profd::client {
namespace {

using format::Span;
using format::SpanKind;

void AppendNumber(std::string& to, auto value) {
  char text[2 * kNumberText];
  if constexpr (std::is_floating_point_v<decltype(value)>) {
    to.append(text, WriteShortest(text, value));
  } else {
    to.append(text, WriteInteger(text, value));
  }
}

void AppendField(std::string& to, std::string_view key, auto value) {
  to += key;
  AppendNumber(to, value);
}

// ns as µs, whole ones as "12.0".
void AppendDuration(std::string& to, uint64_t ns) {
  AppendNumber(to, ns / 1000);
  char text[5] = ".000";
  WriteDigits<3>(text + 1, ns % 1000);
  size_t size = 4;
  while (size > 2 && text[size - 1] == '0') --size;
  to.append(text, size);
}

// How the vendor's timeline calls the levels of API calls.
std::string_view LevelTitle(std::string_view level) {
  if (level == "acl") return "AscendCL@";
  if (level == "runtime") return "Runtime@";
  if (level == "model") return "Model@";
  if (level == "node") return "Node@";
  if (level == "communication") return "Communication@";
  return "Api@";
}

// Behind the threads of the streams, whose numbers have 16 bits; the vendor's SORT_INDEX_OFFSET
// (step_trace_assembler.cpp).
constexpr int64_t kFirstModel = 70'000;

int64_t ModelOf(const format::SpanBatch& batch, const Span& span) {
  const format::TaskDetail* detail = batch.DetailOf(span);
  return detail != nullptr ? detail->model : format::kNoId;
}

}  // namespace

Layer ChromeOutput::LayerOf(const Span& span) const {
  switch (span.kind) {
    case SpanKind::kTask:
    case SpanKind::kKernel:
      return Layer::kHardware;
    case SpanKind::kApi:
    case SpanKind::kMemory:
      return Layer::kCann;
    case SpanKind::kOsCall:
      return Layer::kOsCalls;
    case SpanKind::kStep:
    case SpanKind::kRange:
    case SpanKind::kMark:
      return span.device >= 0 ? Layer::kHardware : Layer::kProgram;
    case SpanKind::kCounter:
      return Layer::kProgram;
    case SpanKind::kComm:
    case SpanKind::kCommPart:
      return Layer::kCommunication;
    case SpanKind::kOverlap:
      return Layer::kOverlap;
    case SpanKind::kMission:
      return Layer::kCcu;
    case SpanKind::kOpMemory:
    case SpanKind::kFusedOp:
    case SpanKind::kTableRow:
      break;
  }
  return Layer::kOther;
}

void ChromeOutput::NameThread(Layer layer, Area& area, uint64_t tid, const format::SpanBatch& batch,
                              const Span& span) {
  static constexpr std::string_view kOverlap[] = {"Computing", "Communication",
                                                  "Communication(Not Overlapped)", "Free"};
  if (layer == Layer::kOverlap) {
    for (size_t i = 0; i < std::size(kOverlap); ++i) area.threads.emplace(i, kOverlap[i]);
  } else if (layer == Layer::kCommunication) {
    const std::string_view group = batch.texts->Get(span.category);
    if (span.kind == SpanKind::kCommPart) {
      area.threads.emplace(tid, "Plane " + std::to_string(span.stream));
    } else {
      area.threads.emplace(
          tid, group.empty() ? "Communication" : "Group " + std::string(group) + " Communication");
    }
  } else if (layer == Layer::kHardware && span.kind == SpanKind::kStep) {
    area.threads.emplace(tid, "Step Trace(Model ID:" + std::to_string(tid - kFirstModel) + ")");
  } else if (layer == Layer::kHardware) {
    area.threads.emplace(tid, "Stream " + std::to_string(tid));
  } else {
    const auto name = threads_.find({span.pid, span.tid});
    area.threads.emplace(
        tid, "Thread " + std::to_string(tid) + (name != threads_.end() ? " " + name->second : std::string()));
  }
}

const ChromeOutput::Place& ChromeOutput::PlaceOf(Layer layer, const format::SpanBatch& batch,
                                                 const Span& span) {
  const bool of_device = !InfoOf(layer).of_host;
  PlaceKey key{layer, of_device ? span.device : span.pid, 0};
  const bool is_part = span.kind == SpanKind::kCommPart;
  // A group, and behind it its planes.
  key.thread = layer == Layer::kCommunication
                   ? static_cast<int64_t>(is_part ? span.stream + 1 : 0) << 32 | span.category
               : layer == Layer::kOverlap                  ? static_cast<int64_t>(span.value)
               : of_device && span.kind == SpanKind::kStep ? kFirstModel + ModelOf(batch, span)
               : layer == Layer::kHardware ? static_cast<int64_t>(facts_.LogicStream(span.stream))
               : of_device                 ? static_cast<int64_t>(span.stream)
                                           : span.tid;
  if (key == last_key_) return last_place_;
  auto found = places_.find(key);
  if (found == places_.end()) {
    uint64_t group_tid = 0;
    if (is_part) {
      Span group = span;
      group.kind = SpanKind::kComm;
      group_tid = PlaceOf(layer, batch, group).tid;
    }
    constexpr size_t kMostPlaces = 1 << 16;
    const format::SideFacts* side = facts_.Device(span.device);
    int64_t pid = side != nullptr ? side->pid : facts_.host.pid;
    if (!of_device) pid = span.pid != 0 ? span.pid : facts_.host.pid;
    const uint64_t timeline_pid = Enter(layer, of_device ? std::max(span.device, 0) : -1, pid);
    Area& area = areas_[timeline_pid];
    const uint64_t tid =
        layer == Layer::kCommunication ? area.threads.size() : static_cast<uint64_t>(key.thread);
    if (places_.size() < kMostPlaces) NameThread(layer, area, tid, batch, span);
    if (is_part) area.planes.try_emplace(tid, group_tid, uint64_t{span.stream} + 1);
    Place place{",\"pid\":" + std::to_string(timeline_pid) + ",\"tid\":" + std::to_string(tid) + ",", tid};
    if (places_.size() >= kMostPlaces) places_.clear();
    found = places_.emplace(key, std::move(place)).first;
  }
  last_key_ = key;
  last_place_ = found->second;
  return last_place_;
}

void ChromeOutput::AppendSpanArgs(std::string& to, const format::SpanBatch& batch, const Span& span) {
  for (const format::SpanArg& arg : batch.ArgsOf(span)) {
    if (arg.type == format::ArgType::kFlow) continue;
    if (arg.type == format::ArgType::kText && arg.bits == span.category) continue;  // is there already
    if (to.back() != '{') to += ',';
    to += Text(batch, arg.key);
    to += ':';
    switch (arg.type) {
      case format::ArgType::kU64:
        if (span.kind == SpanKind::kApi) to += '"';  // ids of calls are texts there
        AppendNumber(to, arg.bits);
        if (span.kind == SpanKind::kApi) to += '"';
        break;
      case format::ArgType::kI64:
        AppendNumber(to, static_cast<int64_t>(arg.bits));
        break;
      case format::ArgType::kF64:
        AppendNumber(to, std::bit_cast<double>(arg.bits));
        break;
      case format::ArgType::kText:
        to += Text(batch, static_cast<format::TextId>(arg.bits));
        break;
      case format::ArgType::kFlow:
        break;
    }
  }
}

void ChromeOutput::AppendArgs(std::string& to, const format::SpanBatch& batch, const Span& span) {
  const format::TaskDetail* task = batch.DetailOf(span);
  static const format::TaskDetail kUnknown;
  const format::TaskDetail& detail = task != nullptr ? *task : kUnknown;
  switch (span.kind) {
    case SpanKind::kTask:
      AppendField(to, "\"Model Id\":", detail.model);
      to += ",\"Task Type\":";
      to += Text(batch, detail.op_task_type != 0 ? detail.op_task_type : span.category);
      AppendField(to, ",\"Physic Stream Id\":", span.stream);
      AppendField(to, ",\"Task Id\":", span.value);
      AppendField(to, ",\"Batch Id\":", detail.batch);
      AppendField(to, ",\"Subtask Id\":", detail.context);
      // Of a task that nobody is known to have launched: DEFAULT_CONNECTION_ID of the vendor's.
      AppendField(to, ",\"connection_id\":",
                  span.connection != 0 ? static_cast<int64_t>(span.connection) : int64_t{-1});
      if (!options_.vendor_compatible)
        AppendCores(to, batch.CountersOf(detail), span.device, detail.block_num);
      break;
    case SpanKind::kKernel:
      to += "\"Task Type\":";
      to += Text(batch, span.category);
      AppendField(to, ",\"Physic Stream Id\":", span.stream);
      AppendField(to, ",\"correlation_id\":", span.value);
      AppendField(to, ",\"connection_id\":", span.connection);
      break;
    case SpanKind::kApi:
      AppendField(to, "\"Thread Id\":", span.tid);
      // Calls of AscendCL have it among their arguments.
      if (std::ranges::none_of(batch.ArgsOf(span), [&](const format::SpanArg& arg) {
            return Text(batch, arg.key) == "\"Mode\"";
          })) {
        to += ",\"Mode\":";
        to += Text(batch, span.name);
      }
      to += ",\"level\":";
      to += Text(batch, span.category);
      AppendField(to, ",\"connection_id\":", span.connection);
      break;
    case SpanKind::kComm:
    case SpanKind::kCommPart:
      AppendField(to, "\"connection_id\":", span.connection);
      break;
    case SpanKind::kMission:
      AppendField(to, "\"Physic Stream Id\":", span.stream);
      AppendField(to, ",\"Task Id\":", span.value);
      break;
    case SpanKind::kStep:
      AppendField(to, "\"Iteration ID\":", span.value);
      break;
    case SpanKind::kRange:
    case SpanKind::kMark:
      to += span.kind == SpanKind::kMark ? "\"event_type\":\"marker\""
            : span.value != 0            ? "\"event_type\":\"start/end\""
                                         : "\"event_type\":\"push/pop\"";
      to += ",\"domain\":";
      to += Text(batch, span.category);
      if (span.device >= 0) AppendField(to, ",\"Physic Stream Id\":", span.stream);
      break;
    default:
      break;
  }
  AppendSpanArgs(to, batch, span);
}

// As older versions of the vendor's timeline have it: of the AI cores, else of the vector cores.
void ChromeOutput::AppendCores(std::string& to, const format::TaskCounters* counters, int device,
                               uint32_t blocks) const {
  const format::SideFacts* side = facts_.Device(device);
  if (counters == nullptr || side == nullptr) return;
  for (const bool vector : {false, true}) {
    const format::TaskCounters::Core& core = counters->core[vector];
    if (!core.counted) continue;
    const double us = CoreBusyUs(core, *side, vector, blocks);
    if (!std::isnan(us)) AppendField(to, ",\"Aicore Time(ms)\":", Rounded(us / 1000, 6));
    return AppendField(to, ",\"Total Cycle\":", core.cycles);
  }
}

void ChromeOutput::AppendStamp(uint64_t ns) {
  char text[2 * kNumberText] = "\"ts\":\"";
  char* const end = span_stamp_.Write(text + 6, ns);
  *end = '"';
  line_.append(text, end + 1);
}

void ChromeOutput::AppendFlow(uint64_t connection, const FlowEnd& end, std::string_view place) {
  char text[kNumberText];
  const std::string_view id(
      text, static_cast<size_t>(
                WriteInteger(text, format::OfAgent(connection) ? connection : connection << 32) - text));
  line_ += end.of_program ? "{\"name\":\"MsTx_" : "{\"name\":\"HostToDevice";
  line_ += id;
  line_ += '"';
  line_ += place;
  line_ += end.ends ? "\"ph\":\"f\",\"cat\":\"" : "\"ph\":\"s\",\"cat\":\"";
  line_ += end.of_program ? "MsTx" : "HostToDevice";
  line_ += "\",\"id\":\"";
  line_ += id;
  line_ += "\",";
  AppendStamp(end.wall_ns);
  line_ += end.ends ? ",\"bp\":\"e\"}," : "},";
}

// The arrow from a call to the task it started. The vendor draws the beginning of each; a program makes many
// calls that start nothing, so its arrows wait for their other end.
void ChromeOutput::WriteFlow(const Span& span, const Place& place) {
  constexpr size_t kMostWaiting = 1 << 18;
  const bool of_program = span.kind == SpanKind::kRange || span.kind == SpanKind::kMark;
  FlowEnd end{span.begin_ns, span.flow == format::Flow::kEnds, of_program, false, {}};
  if (!format::OfAgent(span.connection)) return AppendFlow(span.connection, end, place.text);
  const auto [found, fresh] = flows_.try_emplace(span.connection);
  FlowEnd& other = found->second;
  if (fresh) {
    if (flows_.size() > kMostWaiting) {
      flows_.erase(found);
      return AppendFlow(span.connection, end, place.text);
    }
    end.place = place.text;
    other = std::move(end);
    return;
  }
  if (other.ends == end.ends) return;
  if (!other.written) AppendFlow(span.connection, other, other.place);
  AppendFlow(span.connection, end, place.text);
  other.written = true;
}

void ChromeOutput::WriteSpan(const format::SpanBatch& batch, const Span& span) {
  const Layer layer = LayerOf(span);
  if (span.kind == SpanKind::kCounter && !std::isfinite(span.CounterValue()))
    return;  // JSON has no word for it
  const Place& place = PlaceOf(layer, batch, span);
  line_ = "{\"name\":";
  if (span.kind == SpanKind::kApi) {
    line_ += '"';
    line_ += LevelTitle(batch.texts->Get(span.category));
    line_ += Text(batch, span.name).substr(1);
  } else {
    line_ += Text(batch, span.name);
  }
  line_ += place.text;
  AppendStamp(span.begin_ns);
  if (span.kind == SpanKind::kCounter) {
    line_ += ",\"ph\":\"C\",\"args\":{\"value\":";
    AppendNumber(line_, span.CounterValue());
    line_ += "}},";
  } else {
    line_ += ",\"dur\":";
    AppendDuration(line_, span.end_ns > span.begin_ns ? span.end_ns - span.begin_ns : 0);
    line_ += ",\"ph\":\"X\",\"args\":{";
    AppendArgs(line_, batch, span);
    line_ += "}},";
  }
  if (span.flow != format::Flow::kNone && span.connection != 0) WriteFlow(span, place);
  file_->Append(line_);
}

void ChromeOutput::Spans(const format::SpanBatch& batch) {
  for (const Span& span : batch.spans)
    if (span.in_timelines()) WriteSpan(batch, span);
}

}  // namespace profd::client
