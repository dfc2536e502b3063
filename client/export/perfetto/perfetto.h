// Perfetto's own format: for captures that are too large for JSON. The tracks form a tree: a device or the
// host, what is measured there, the counters; a program, its threads; a device's streams.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "client/export/perfetto/perfetto_packet.h"
#include "client/export/views/counters.h"
#include "client/export/views/layers.h"
#include "client/export/write/output.h"
#include "client/export/write/output_file.h"
#include "client/export/write/proto_text.h"

namespace profd::client {

// **Thread:** one. **Owns:** its file.
class PerfettoOutput final : public ExportOutput {
 public:
  PerfettoOutput(std::unique_ptr<OutputFile> file, const CaptureFacts& facts);

  void Label(const format::Series& series, int device, size_t key, int64_t value,
             std::string_view text) override;
  void Rows(const format::RowBatch& batch) override;
  void Process(const format::SpanProcess& process) override;
  void Thread(const format::SpanThread& thread) override;
  void Spans(const format::SpanBatch& batch) override;
  base::Status status() const override { return file_->status(); }
  base::Status Finish() override;
  uint64_t bytes() const override { return file_->bytes(); }
  uint64_t left_out() const override { return left_out_ + counters_.left_out(); }

 private:
  using Track = uint64_t;  // uuid; 0 = none
  // A counter's packet is this, a stamp and a value.
  struct Counter {
    BoundArg value;
    std::string event;  // TrackEvent up to its value
  };
  struct Program {
    std::string name, label;
  };
  struct TrackKey {
    uint8_t sort;  // a Layer, or one of the roots
    int64_t owner, thread;
    auto operator<=>(const TrackKey&) const = default;
  };

  // Part of a track in which spans of one lane lie.
  struct Lane {
    Track track = 0;
    uint64_t from = 0, until = 0;
    EventHead begin, end, instant;
  };

  // Tracks, made when they are first needed.
  Track Named(const TrackKey& key, Track parent, std::string_view name);
  Track NewTrack(Track parent, std::string_view name);
  Track NewCounter(Track parent, std::string_view name, std::string_view unit);
  Track RootOf(int device);
  Track AreaOf(Layer layer, int device);
  Track ProcessOf(int64_t pid);
  Track ThreadOf(int64_t pid, int64_t tid);
  Track TrackOf(const format::SpanBatch& batch, const format::Span& span);
  // Where the spans of one thread, stream, … go; those of a kind mostly come in rows.
  struct Place {
    int64_t pid = 0, tid = 0;
    uint64_t part = 0;
    int32_t device = 0;
    uint32_t stream = 0;
    bool may_overlap = false;
    std::vector<Lane>* lanes = nullptr;  // not empty; nullptr: not set
  };
  Place& PlaceOf(const format::SpanBatch& batch, const format::Span& span) {
    Place& place = places_[static_cast<size_t>(span.kind) % kPlaces];
    const bool same = place.lanes != nullptr && place.pid == span.pid && place.tid == span.tid &&
                      place.device == span.device && place.stream == span.stream &&
                      place.part == PartOf(span);
    return same ? place : SetPlace(place, batch, span);
  }
  Place& SetPlace(Place& place, const format::SpanBatch& batch, const format::Span& span);
  static uint64_t PartOf(const format::Span& span) {
    switch (span.kind) {
      case format::SpanKind::kComm:
      case format::SpanKind::kCommPart:
        return span.category;
      case format::SpanKind::kOverlap:
        return span.value;
      case format::SpanKind::kRange:
        return uint64_t{span.value != 0};
      default:
        return 0;
    }
  }
  static Lane LaneAt(Track track, uint64_t from, uint64_t until);
  // Of the track of `place`, or of one like it, on which this span overlaps no other; nullptr: there are too
  // many already.
  const Lane* LaneOf(const Place& place, const format::Span& span);

  void MakeCounters(const CounterTable& table, const format::RowBatch& batch, std::span<const int64_t> keys,
                    const Labels& labels, std::vector<Counter>& counters);
  void WriteCounter(const Counter& counter, uint64_t wall_ns, double value);

  void Describe(const proto::Message& descriptor);
  void WriteSpan(const format::SpanBatch& batch, const format::Span& span);
  void WriteProgramCounter(const format::SpanBatch& batch, const format::Span& span);
  void DescribeTexts();  // those of interned_
  char* WriteArgs(char* at, const format::SpanBatch& batch, const format::Span& span);
  // Texts that the reader of a sequence knows by their numbers, one table for each use of texts.
  enum Use : uint8_t { kNames, kKeys, kStrings };
  uint64_t NumberOf(Use use, const format::Texts& texts, format::TextId id) {
    const std::vector<uint8_t>& known = known_[use];
    if (&texts == texts_ && id < known.size() && known[id] != 0) return first_text_ + id;
    return NewNumber(use, texts, id);
  }
  uint64_t NewNumber(Use use, const format::Texts& texts, format::TextId id);

  std::unique_ptr<OutputFile> file_;
  CaptureFacts facts_;
  CounterRows<Counter> counters_{true};
  std::map<int64_t, Program> programs_;
  std::map<std::pair<int64_t, int64_t>, std::string> threads_;  // names by pid and tid
  std::map<TrackKey, Track> tracks_;
  std::map<Track, std::pair<Track, std::string>> bases_;  // parent and name of tracks that may get lanes
  std::unordered_map<Track, std::vector<Lane>> lanes_;
  Track last_track_ = 0;
  const format::Texts* texts_ = nullptr;
  std::array<std::vector<uint8_t>, 3> known_;  // texts of texts_ that the reader knows, by Use
  uint64_t first_text_ = 0;
  static constexpr size_t kPlaces = 16;
  static_assert(kPlaces >= format::kSpanKinds);
  std::array<Place, kPlaces> places_;
  proto::Message interned_;  // texts that the reader does not know yet
  std::vector<uint32_t> order_;
  uint64_t stamp_ns_ = 0;  // whose field is in stamp_
  char stamp_[16] = {};
  size_t stamp_size_ = 0;
  uint64_t left_out_ = 0;
};

}  // namespace profd::client
