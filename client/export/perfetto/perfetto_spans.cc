// Spans as slices, instants and counters of Perfetto's tracks.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "client/export/perfetto/perfetto.h"
#include "client/export/perfetto/perfetto_fields.h"
#include "client/export/write/json_text.h"

namespace profd::client {
namespace {

using format::ArgType;
using format::Span;
using format::SpanKind;
using proto::Message;
using proto::Wire;

// Kinds of which two on one track may overlap without one being inside the other.
bool MayOverlap(const Span& span) {
  switch (span.kind) {
    case SpanKind::kApi:
    case SpanKind::kMark:
    case SpanKind::kCounter:
    case SpanKind::kOverlap:
      return false;
    case SpanKind::kRange:
      return span.value != 0;
    default:
      return true;
  }
}

constexpr int64_t kName32 = 0xFFFFFFFF;

SpanField CategoryField(SpanKind kind) {
  switch (kind) {
    case SpanKind::kApi:
      return SpanField::kLevel;
    case SpanKind::kComm:
    case SpanKind::kCommPart:
      return SpanField::kGroup;
    case SpanKind::kRange:
    case SpanKind::kMark:
      return SpanField::kDomain;
    default:
      return SpanField::kType;
  }
}

SpanField ValueField(SpanKind kind) {
  switch (kind) {
    case SpanKind::kTask:
      return SpanField::kTask;
    case SpanKind::kKernel:
      return SpanField::kCorrelation;
    case SpanKind::kStep:
      return SpanField::kStep;
    default:
      return SpanField::kNone;
  }
}

}  // namespace

void PerfettoOutput::Process(const format::SpanProcess& process) {
  programs_[process.pid] = {std::string(process.name), std::string(process.label)};
}

void PerfettoOutput::Thread(const format::SpanThread& thread) {
  threads_[{thread.pid, thread.tid}] = ValidUtf8(thread.name);
}

PerfettoOutput::Track PerfettoOutput::ProcessOf(int64_t pid) {
  Track& track = tracks_[{kProcesses, pid, 0}];
  if (track != 0) return track;
  track = ++last_track_;
  const auto program = programs_.find(pid);
  std::string name = program != programs_.end() ? program->second.name : std::string();
  if (name.empty() && pid == facts_.host.pid) name = facts_.host.pid_name;
  const bool labelled = program != programs_.end() && !program->second.label.empty();
  if (labelled) name += " (" + program->second.label + ")";  // viewers show the pid themselves
  Message process, descriptor;
  process.Add(pb::kProcessPid, static_cast<uint64_t>(pid)).Add(pb::kProcessName, ValidUtf8(name));
  if (labelled) process.Add(pb::kProcessLabels, ValidUtf8(program->second.label));
  descriptor.Add(pb::kTrackUuid, track).Add(pb::kTrackProcess, process);
  Describe(descriptor);
  return track;
}

PerfettoOutput::Track PerfettoOutput::ThreadOf(int64_t pid, int64_t tid) {
  const Track process = ProcessOf(pid);
  Track& track = tracks_[{kThreads, pid, tid}];
  if (track != 0) return track;
  track = ++last_track_;
  Message thread, descriptor;
  thread.Add(pb::kThreadPid, static_cast<uint64_t>(pid)).Add(pb::kThreadTid, static_cast<uint64_t>(tid));
  const auto name = threads_.find({pid, tid});
  if (name != threads_.end()) thread.Add(pb::kThreadName, name->second);
  descriptor.Add(pb::kTrackUuid, track).Add(pb::kTrackParent, process).Add(pb::kTrackThread, thread);
  Describe(descriptor);
  return track;
}

PerfettoOutput::Track PerfettoOutput::TrackOf(const format::SpanBatch& batch, const Span& span) {
  const auto part = [&](Track parent, std::string_view name) {
    return Named({kParts, static_cast<int64_t>(parent), static_cast<int64_t>(span.kind)}, parent, name);
  };
  const auto of_device = [&](Layer layer, int64_t thread, std::string_view name) {
    const TrackKey key{static_cast<uint8_t>(layer), span.device, thread};
    const auto found = tracks_.find(key);
    return found != tracks_.end() ? found->second : Named(key, AreaOf(layer, span.device), name);
  };
  const auto of_stream = [&] {
    const uint32_t stream = facts_.LogicStream(span.stream);
    return of_device(Layer::kHardware, stream, "Stream " + std::to_string(stream));
  };
  const int64_t pid = span.pid != 0 ? span.pid : facts_.host.pid;
  switch (span.kind) {
    case SpanKind::kTask:
    case SpanKind::kKernel:
      return of_stream();
    case SpanKind::kComm: {
      const std::string group = "Group " + std::string(batch.texts->Get(span.category));
      return of_device(Layer::kCommunication, span.category, span.category == 0 ? "Communication" : group);
    }
    case SpanKind::kCommPart: {
      const std::string group = "Group " + std::string(batch.texts->Get(span.category));
      return of_device(Layer::kCommunication, static_cast<int64_t>(span.stream + 1) << 32 | span.category,
                       group + " Plane " + std::to_string(span.stream));
    }
    case SpanKind::kOverlap:
      return of_device(Layer::kOverlap, static_cast<int64_t>(span.value) & kName32,
                       batch.texts->Get(span.name));
    case SpanKind::kMission:
      return of_device(Layer::kCcu, span.stream, "Stream " + std::to_string(span.stream));
    case SpanKind::kStep:
      if (span.device >= 0) return of_device(Layer::kHardware, kName32 + 1, "Iterations");
      return part(ProcessOf(pid), "Steps");
    case SpanKind::kCounter:
      return ProcessOf(pid);
    case SpanKind::kApi:
      return part(ThreadOf(pid, span.tid), "CANN");
    case SpanKind::kOsCall:
      return part(ThreadOf(pid, span.tid), "OS calls");
    case SpanKind::kMemory:
      return part(ThreadOf(pid, span.tid), "Memory");
    case SpanKind::kRange:
    case SpanKind::kMark:
      if (span.device >= 0) return of_stream();
      if (span.kind == SpanKind::kRange && span.value != 0) return part(ThreadOf(pid, span.tid), "Ranges");
      break;
    case SpanKind::kOpMemory:
    case SpanKind::kFusedOp:
    case SpanKind::kTableRow:
      break;
  }
  return ThreadOf(pid, span.tid);
}

PerfettoOutput::Lane PerfettoOutput::LaneAt(Track track, uint64_t from, uint64_t until) {
  return {track,
          from,
          until,
          EventHead(pb::kTypeBegin, track),
          EventHead(pb::kTypeEnd, track),
          EventHead(pb::kTypeInstant, track)};
}

PerfettoOutput::Place& PerfettoOutput::SetPlace(Place& place, const format::SpanBatch& batch,
                                                const Span& span) {
  const Track track = TrackOf(batch, span);
  std::vector<Lane>& lanes = lanes_[track];
  if (lanes.empty()) lanes.push_back(LaneAt(track, span.begin_ns, span.begin_ns));
  place = {span.pid, span.tid, PartOf(span), span.device, span.stream, MayOverlap(span), &lanes};
  return place;
}

const PerfettoOutput::Lane* PerfettoOutput::LaneOf(const Place& place, const Span& span) {
  constexpr size_t kMostLanes = 256;
  std::vector<Lane>& lanes = *place.lanes;
  if (!place.may_overlap) return &lanes.front();
  const uint64_t end_ns = std::max(span.begin_ns, span.end_ns);
  for (Lane& lane : lanes) {
    if (span.begin_ns >= lane.until) {
      lane.until = end_ns;
      return &lane;
    }
    if (end_ns <= lane.from) {
      lane.from = span.begin_ns;
      return &lane;
    }
  }
  if (lanes.size() == kMostLanes) return nullptr;
  const auto& [parent, name] = bases_[lanes.front().track];
  lanes.push_back(LaneAt(NewTrack(parent, name), span.begin_ns, end_ns));
  return &lanes.back();
}

uint64_t PerfettoOutput::NewNumber(Use use, const format::Texts& texts, format::TextId id) {
  constexpr uint32_t kFields[] = {pb::kEventNames, pb::kAnnotationNames, pb::kAnnotationStrings};
  if (texts_ != &texts) {  // those of another table get numbers of their own
    size_t most = 0;
    for (std::vector<uint8_t>& known : known_) {
      most = std::max(most, known.size());
      known.clear();
    }
    first_text_ += most;
    texts_ = &texts;
  }
  if (id >= texts.size()) id = 0;
  std::vector<uint8_t>& known = known_[use];
  if (id >= known.size()) known.resize(texts.size());
  if (known[id] == 0) {
    known[id] = 1;
    const Message text = Message().Add(pb::kIid, first_text_ + id).Add(pb::kName, ValidUtf8(texts.Get(id)));
    interned_.Add(kFields[use], text);
  }
  return first_text_ + id;
}

namespace {

// A packet's room: all but its arguments, and each of these.
constexpr size_t kPacketRoom = 256, kArgRoom = 48;
constexpr size_t kMostArgs = 300;
static_assert(kPacketRoom + kMostArgs * kArgRoom <= proto::kMostLength);

}  // namespace

char* PerfettoOutput::WriteArgs(char* at, const format::SpanBatch& batch, const Span& span) {
  const format::Texts& texts = *batch.texts;
  const auto number = [&](SpanField field, uint64_t value) {
    at = WriteNumber(at, static_cast<uint64_t>(field), value);
  };
  const auto text = [&](SpanField field, format::TextId id) {
    if (id != 0) at = WriteText(at, static_cast<uint64_t>(field), NumberOf(kStrings, texts, id));
  };
  text(CategoryField(span.kind), span.category);
  if (const SpanField field = ValueField(span.kind); field != SpanField::kNone) number(field, span.value);
  if (span.connection != 0) number(SpanField::kConnection, span.connection);
  if (const format::TaskDetail* task = batch.DetailOf(span)) {
    number(SpanField::kBatch, task->batch);
    if (task->model != format::kNoId) number(SpanField::kModel, task->model);
    if (task->context != format::kNoId) number(SpanField::kContext, task->context);
    text(SpanField::kOpType, task->op_type);
    text(SpanField::kInputShapes, task->input_shapes);
    text(SpanField::kOutputShapes, task->output_shapes);
  }
  for (const format::SpanArg& arg : batch.ArgsOf(span).first(std::min<size_t>(span.arg_count, kMostArgs))) {
    if (arg.type == ArgType::kFlow) {
      at = proto::WriteFixed64(proto::WriteTag<pb::kFlows, Wire::kFixed64>(at), arg.bits);
      continue;
    }
    const bool is_text = arg.type == ArgType::kText;
    if (is_text && arg.bits == span.category) continue;  // is there already
    const uint64_t name = NumberOf(kKeys, texts, arg.key);
    at = is_text ? WriteText(at, name, NumberOf(kStrings, texts, static_cast<format::TextId>(arg.bits)))
                 : WriteValue(at, name, arg);
  }
  return at;
}

void PerfettoOutput::DescribeTexts() {
  Message packet;
  packet.Add(pb::kSequenceId, 1).Add(pb::kSequenceFlags, pb::kNeedsState);
  packet.Add(pb::kInternedData, interned_);
  file_->Append(Message().Add(pb::kPacket, packet).bytes());
  interned_.Clear();
}

void PerfettoOutput::WriteProgramCounter(const format::SpanBatch& batch, const Span& span) {
  if (!std::isfinite(span.CounterValue())) return;
  const Track process = PlaceOf(batch, span).lanes->front().track;
  Track& track = tracks_[{kParts, static_cast<int64_t>(process), kName32 + 1 + span.name}];
  if (track == 0) track = NewCounter(process, batch.texts->Get(span.name), "");
  const EventHead head(pb::kTypeCounter, track);
  char* const packet = file_->Reserve(kPacketRoom);
  char* const event = BeginPacket(packet, span.begin_ns, head);
  char* const value = proto::WriteTag<pb::kDoubleCounter, Wire::kFixed64>(event);
  char* const end = proto::WriteFixed64(value, std::bit_cast<uint64_t>(span.CounterValue()));
  file_->Advance(EndPacket(packet, event, head, end));
}

void PerfettoOutput::WriteSpan(const format::SpanBatch& batch, const Span& span) {
  if (!span.in_timelines()) return;
  if (span.kind == SpanKind::kCounter) return WriteProgramCounter(batch, span);
  const Lane* const lane = LaneOf(PlaceOf(batch, span), span);
  if (lane == nullptr) {
    ++left_out_;
    return;
  }
  const size_t args = std::min<size_t>(span.arg_count, kMostArgs);
  char* const packet = file_->Reserve(2 * kPacketRoom + args * kArgRoom);
  const EventHead& head = span.instant() ? lane->instant : lane->begin;
  char* const event = BeginPacket(packet, span.begin_ns, head);
  char* at = event;
  at = proto::WriteVarint(proto::WriteTag<pb::kNameIid, Wire::kVarint>(at),
                          NumberOf(kNames, *batch.texts, span.name));
  if (span.connection != 0 && span.flow != format::Flow::kNone) {
    at = span.flow == format::Flow::kEnds ? proto::WriteTag<pb::kTerminatingFlows, Wire::kFixed64>(at)
                                          : proto::WriteTag<pb::kFlows, Wire::kFixed64>(at);
    at = proto::WriteFixed64(at, span.connection);
  }
  at = EndPacket(packet, event, head, WriteArgs(at, batch, span));
  if (!interned_.empty()) {  // the reader must know the texts first
    const std::string done(packet, at);
    DescribeTexts();
    at = file_->Reserve(2 * kPacketRoom + args * kArgRoom);
    at = std::copy(done.begin(), done.end(), at);
  }
  if (!span.instant()) {
    char* const last = BeginPacket(at, std::max(span.begin_ns, span.end_ns), lane->end);
    at = EndPacket(at, last, lane->end, last);
  }
  file_->Advance(at);
}

// Readers sort by stamps and keep the order of what has the same one, so what encloses goes before what it
// encloses. Most batches are in that order.
void PerfettoOutput::Spans(const format::SpanBatch& batch) {
  const auto before = [](const Span& a, const Span& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  };
  if (std::ranges::is_sorted(batch.spans, before)) {
    for (const Span& span : batch.spans) WriteSpan(batch, span);
    return;
  }
  order_.resize(batch.spans.size());
  std::iota(order_.begin(), order_.end(), 0);
  std::ranges::stable_sort(order_,
                           [&](uint32_t a, uint32_t b) { return before(batch.spans[a], batch.spans[b]); });
  for (const uint32_t i : order_) WriteSpan(batch, batch.spans[i]);
}

}  // namespace profd::client
