#include "client/export/perfetto/perfetto.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "client/export/perfetto/perfetto_fields.h"
#include "client/export/write/json_text.h"

namespace profd::client {

using proto::Message;

base::Result<std::unique_ptr<ExportOutput>> MakePerfettoOutput(const std::string& path,
                                                               const CaptureFacts& facts,
                                                               const OutputOptions&) {
  auto file = OutputFile::Create(path);
  if (!file.ok()) return file.status();
  return std::unique_ptr<ExportOutput>(std::make_unique<PerfettoOutput>(std::move(*file), facts));
}

PerfettoOutput::PerfettoOutput(std::unique_ptr<OutputFile> file, const CaptureFacts& facts)
    : file_(std::move(file)), facts_(facts), first_text_(kFirstText) {
  // Stamps are of the trace's own clock, which is to be the wall clock.
  Message clocks, names, packet;
  for (const uint64_t clock : {pb::kClockBoottime, pb::kClockRealtime})
    clocks.Add(pb::kClocks, Message().Add(pb::kClockId, clock).Add(pb::kClockTimestamp, facts_.start_ns));
  for (size_t i = 1; i < std::size(kSpanFields); ++i)
    names.Add(pb::kAnnotationNames, Message().Add(pb::kIid, i).Add(pb::kName, kSpanFields[i]));
  packet.Add(pb::kSequenceId, 1).Add(pb::kSequenceFlags, pb::kStateCleared);
  packet.Add(pb::kClockSnapshot, clocks).Add(pb::kInternedData, names);
  file_->Append(Message().Add(pb::kPacket, packet).bytes());
}

void PerfettoOutput::Describe(const Message& descriptor) {
  Message packet;
  packet.Add(pb::kSequenceId, 1).Add(pb::kTrackDescriptor, descriptor);
  file_->Append(Message().Add(pb::kPacket, packet).bytes());
}

PerfettoOutput::Track PerfettoOutput::NewTrack(Track parent, std::string_view name) {
  const Track track = ++last_track_;
  Message descriptor;
  descriptor.Add(pb::kTrackUuid, track).Add(pb::kTrackName, ValidUtf8(name));
  if (parent != 0) descriptor.Add(pb::kTrackParent, parent);
  Describe(descriptor);
  return track;
}

PerfettoOutput::Track PerfettoOutput::NewCounter(Track parent, std::string_view name, std::string_view unit) {
  const Track track = ++last_track_;
  Message descriptor, counter;
  if (!unit.empty()) counter.Add(pb::kUnitName, unit);
  descriptor.Add(pb::kTrackUuid, track).Add(pb::kTrackName, ValidUtf8(name)).Add(pb::kTrackParent, parent);
  descriptor.Add(pb::kTrackCounter, counter);
  Describe(descriptor);
  return track;
}

PerfettoOutput::Track PerfettoOutput::Named(const TrackKey& key, Track parent, std::string_view name) {
  Track& track = tracks_[key];
  if (track == 0) {
    track = NewTrack(parent, name);
    bases_[track] = {parent, std::string(name)};
  }
  return track;
}

PerfettoOutput::Track PerfettoOutput::RootOf(int device) {
  return Named({kRoots, device, 0}, 0, device < 0 ? "Host" : "NPU " + std::to_string(device));
}

PerfettoOutput::Track PerfettoOutput::AreaOf(Layer layer, int device) {
  const auto found = tracks_.find({static_cast<uint8_t>(layer), device, kArea});
  if (found != tracks_.end()) return found->second;
  return Named({static_cast<uint8_t>(layer), device, kArea}, RootOf(device), InfoOf(layer).name);
}

void PerfettoOutput::Label(const format::Series& series, int device, size_t key, int64_t value,
                           std::string_view text) {
  counters_.Label(series, device, key, value, text);
}

namespace {

// "MB/s" of "Read(MB/s)".
std::string_view UnitOf(std::string_view name) {
  const size_t open = name.rfind('(');
  return open == name.npos || !name.ends_with(')') ? std::string_view()
                                                   : name.substr(open + 1, name.size() - open - 2);
}

}  // namespace

void PerfettoOutput::MakeCounters(const CounterTable& table, const format::RowBatch& batch,
                                  std::span<const int64_t> keys, const Labels& labels,
                                  std::vector<Counter>& counters) {
  for (BoundEvent& event : BindEvents(table, *batch.series, batch.device, keys, labels, {})) {
    const size_t values = std::ranges::count_if(event.args, [](const BoundArg& arg) { return arg.key < 0; });
    for (BoundArg& arg : event.args) {
      if (arg.key >= 0) continue;  // tells rows apart, and is no value
      const bool alone = values == 1 && !event.event->joined;
      const std::string name = alone ? event.name : event.name + " " + arg.name;
      const Track track = NewCounter(AreaOf(table.layer, batch.device), name, UnitOf(arg.name));
      Message head, packet;
      head.Add(pb::kEventType, pb::kTypeCounter).Add(pb::kEventTrack, track);
      head.AddDouble(pb::kDoubleCounter, 0);
      packet.Add(pb::kSequenceId, 1).Add(pb::kTrackEvent, head);
      counters.push_back({std::move(arg), std::string(packet.bytes().substr(0, packet.bytes().size() - 8))});
    }
  }
}

void PerfettoOutput::WriteCounter(const Counter& counter, uint64_t wall_ns, double value) {
  if (wall_ns != stamp_ns_ || stamp_size_ == 0) {  // many counters have the same one
    stamp_ns_ = wall_ns;
    stamp_[0] = static_cast<char>(proto::Tag(pb::kTimestamp, proto::Wire::kVarint));
    stamp_size_ = static_cast<size_t>(proto::WriteVarint(stamp_ + 1, wall_ns) - stamp_);
  }
  char* at = file_->Reserve(128);
  *at++ = static_cast<char>(proto::Tag(pb::kPacket, proto::Wire::kBytes));
  *at++ = static_cast<char>(stamp_size_ + counter.event.size() + 8);  // below 128
  std::memcpy(at, stamp_, sizeof(stamp_));
  at += stamp_size_;
  std::memcpy(at, counter.event.data(), counter.event.size());
  file_->Advance(proto::WriteFixed64(at + counter.event.size(), std::bit_cast<uint64_t>(value)));
}

void PerfettoOutput::Rows(const format::RowBatch& batch) {
  counters_.Rows(
      batch, [this](auto&&... of) { MakeCounters(of...); },
      [this](const Counter& counter, uint64_t wall_ns, const int64_t* keys, const double* values) {
        const double value = counter.value.Of(keys, values);
        if (std::isfinite(value)) WriteCounter(counter, wall_ns, value);
      });
}

base::Status PerfettoOutput::Finish() { return file_->Finish(); }

}  // namespace profd::client
