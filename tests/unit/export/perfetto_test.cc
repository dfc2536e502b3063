#include <google/protobuf/unknown_field_set.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "client/export/write/output.h"
#include "client/export/write/proto_text.h"
#include "format/decode/catalogue.h"

namespace profd::client {
namespace {

using google::protobuf::UnknownField;
using google::protobuf::UnknownFieldSet;

// A message as protobuf itself reads it, without its description.
class Message {
 public:
  explicit Message(const std::string& bytes) { EXPECT_TRUE(set_->ParseFromString(bytes)); }
  int size() const { return set_->field_count(); }
  const UnknownField& field(int i) const { return set_->field(i); }
  bool Has(int number) const { return Find(number) != nullptr; }
  uint64_t Number(int number) const {
    const UnknownField* field = Find(number);
    return field == nullptr                              ? 0
           : field->type() == UnknownField::TYPE_FIXED64 ? field->fixed64()
                                                         : field->varint();
  }
  std::string Bytes(int number) const { return Has(number) ? Find(number)->length_delimited() : ""; }

 private:
  const UnknownField* Find(int number) const {
    for (int i = 0; i < size(); ++i)
      if (field(i).number() == number) return &field(i);
    return nullptr;
  }
  std::unique_ptr<UnknownFieldSet> set_ = std::make_unique<UnknownFieldSet>();
};

struct Event {
  uint64_t stamp, type, track, name_iid, flow, terminating;
  double value;
};
struct Trace {
  std::map<uint64_t, std::pair<uint64_t, std::string>> tracks;  // parent and name
  std::map<uint64_t, std::string> names;
  std::vector<Event> events;
};

class Perfetto : public testing::Test {
 protected:
  Perfetto() {
    folder_ = std::filesystem::temp_directory_path() / ("perfetto_test_" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    facts_.host.pid = 4242;
    facts_.start_ns = 1'700'000'000'000'000'000;
    format::SideFacts side;
    side.device = 0;
    side.chip = format::Chip::k910B;
    facts_.devices.push_back(side);
    auto made = MakePerfettoOutput(path(), facts_, {});
    EXPECT_TRUE(made.ok());
    output_ = std::move(*made);
    batch_.texts = &texts_;
  }
  ~Perfetto() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return (folder_ / "trace").string(); }

  format::Span& Add(format::SpanKind kind, const char* name, uint64_t begin, uint64_t end) {
    format::Span& span = batch_.spans.emplace_back();
    span.kind = kind;
    span.name = texts_.Intern(name);
    span.begin_ns = begin;
    span.end_ns = end;
    span.pid = span.tid = 4242;
    if (kind == format::SpanKind::kTask) span.device = 0, span.stream = 7;
    return span;
  }
  Trace Finish() {
    EXPECT_TRUE(output_->Finish().ok());
    std::ifstream file(path(), std::ios::binary);
    std::stringstream bytes;
    bytes << file.rdbuf();
    Trace trace;
    const Message packets(bytes.str());
    for (int i = 0; i < packets.size(); ++i) {
      const Message packet(packets.field(i).length_delimited());
      const Message interned(packet.Bytes(12));
      for (int k = 0; k < interned.size(); ++k) {
        if (interned.field(k).number() != 2) continue;
        const Message name(interned.field(k).length_delimited());
        EXPECT_TRUE(trace.names.emplace(name.Number(1), name.Bytes(2)).second) << "named twice";
      }
      if (packet.Has(60)) {
        const Message track(packet.Bytes(60));
        trace.tracks[track.Number(1)] = {track.Number(5), track.Bytes(2)};
      }
      if (!packet.Has(11)) continue;
      const Message event(packet.Bytes(11));
      trace.events.push_back({packet.Number(8), event.Number(9), event.Number(11), event.Number(10),
                              event.Number(47), event.Number(48), std::bit_cast<double>(event.Number(44))});
      EXPECT_TRUE(trace.tracks.contains(trace.events.back().track));
    }
    return trace;
  }
  // "B name", "E" in the order in which a reader has them that keeps the order of equal stamps.
  static std::string Sorted(Trace& trace) {
    std::ranges::stable_sort(trace.events, {}, &Event::stamp);
    std::string text;
    for (const Event& event : trace.events)
      text += event.type == 1 ? "(" + trace.names[event.name_iid] : event.type == 2 ? ")" : "!";
    return text;
  }

  std::filesystem::path folder_;
  CaptureFacts facts_;
  std::unique_ptr<ExportOutput> output_;
  format::Texts texts_;
  format::SpanBatch batch_;
};

TEST(ProtoText, VarintsAreWhatProtobufReads) {
  for (int shift = 0; shift < 64; ++shift) {
    for (const uint64_t value :
         {uint64_t{1} << shift, (uint64_t{1} << shift) - 1, UINT64_MAX >> shift,
          uint64_t{0x0123456789ABCDEF} >> shift, uint64_t{0x7FEDCBA987654321} >> shift}) {
      char text[32];
      char* at = proto::WriteTag<5, proto::Wire::kVarint>(text);
      at = proto::WriteVarint(at, value);
      const size_t sevens = value == 0 ? 1 : (static_cast<size_t>(std::bit_width(value)) + 6) / 7;
      EXPECT_EQ(static_cast<size_t>(at - text), 1 + sevens);
      EXPECT_EQ(Message(std::string(text, at)).Number(5), value);
    }
  }
}

TEST_F(Perfetto, CountersHangBelowTheirDevice) {
  output_->Rows({format::FindSeries("hbm"),
                 0,
                 {facts_.start_ns, facts_.start_ns + 1},
                 {3, 0, 3, 0},
                 {1 << 20, 3 << 20}});
  const Trace trace = Finish();
  ASSERT_EQ(trace.events.size(), 2u);
  EXPECT_EQ(trace.events[0].stamp, facts_.start_ns);
  EXPECT_EQ(trace.events[0].type, 4u);
  EXPECT_EQ(trace.events[0].value, 1);
  EXPECT_EQ(trace.events[1].value, 3);
  const auto& [area, counter] = trace.tracks.at(trace.events[0].track);
  EXPECT_EQ(counter, "HBM 3/Read");
  EXPECT_EQ(trace.tracks.at(area).second, "HBM");
  EXPECT_EQ(trace.tracks.at(trace.tracks.at(area).first).second, "NPU 0");
}

TEST_F(Perfetto, WhatEnclosesComesFirst) {
  // As they end: the inner ones before the outer one, all beginning at once.
  Add(format::SpanKind::kRange, "inner", 10, 20);
  Add(format::SpanKind::kRange, "next", 20, 30);
  Add(format::SpanKind::kRange, "outer", 10, 30);
  output_->Spans(batch_);
  Trace trace = Finish();
  EXPECT_EQ(Sorted(trace), "(outer(inner)(next))");
}

TEST_F(Perfetto, SpansThatOverlapGetTracksOfTheirOwn) {
  Add(format::SpanKind::kTask, "a", 10, 20);
  Add(format::SpanKind::kTask, "b", 15, 25);
  Add(format::SpanKind::kTask, "c", 20, 30);
  Add(format::SpanKind::kTask, "d", 2, 4);  // later in the batch, and yet before all
  output_->Spans(batch_);
  const Trace trace = Finish();
  std::map<std::string, uint64_t> track;
  for (const Event& event : trace.events)
    if (event.type == 1) track[trace.names.at(event.name_iid)] = event.track;
  EXPECT_EQ(track["a"], track["c"]);
  EXPECT_EQ(track["a"], track["d"]);
  EXPECT_NE(track["a"], track["b"]);
  EXPECT_EQ(trace.tracks.at(track["b"]),
            trace.tracks.at(track["a"]));  // the same name, below the same parent
}

TEST_F(Perfetto, MoreAtOnceThanTracksAreCounted) {
  for (uint64_t i = 0; i < 300; ++i) Add(format::SpanKind::kTask, "t", i, 1000 + i);
  output_->Spans(batch_);
  EXPECT_EQ(output_->left_out(), 300u - 256u);
  EXPECT_EQ(Finish().events.size(), 2u * 256u);
}

TEST_F(Perfetto, NamesOfAnotherTableAreOtherNames) {
  Add(format::SpanKind::kMark, "first", 1, 1);
  output_->Spans(batch_);
  output_->Spans(batch_);
  format::Texts other;
  batch_.texts = &other;
  batch_.spans[0].name = other.Intern("second");
  output_->Spans(batch_);
  const Trace trace = Finish();
  ASSERT_EQ(trace.events.size(), 3u);
  EXPECT_EQ(trace.names.at(trace.events[0].name_iid), "first");
  EXPECT_EQ(trace.names.at(trace.events[1].name_iid), "first");
  EXPECT_EQ(trace.names.at(trace.events[2].name_iid), "second");
}

TEST_F(Perfetto, FlowsFromCallToTask) {
  format::Span& api = Add(format::SpanKind::kApi, "launch", 1, 2);
  api.connection = uint64_t{5} << 44 | 1;
  api.flow = format::Flow::kBegins;
  format::Span& task = Add(format::SpanKind::kTask, "MatMul", 3, 9);
  task.connection = uint64_t{5} << 44 | 1;
  task.flow = format::Flow::kEnds;
  output_->Spans(batch_);
  const Trace trace = Finish();
  EXPECT_EQ(trace.events[0].flow, uint64_t{5} << 44 | 1);
  EXPECT_EQ(trace.events[2].terminating, trace.events[0].flow);
}

TEST_F(Perfetto, SpansOfAnyValuesAreWritten) {
  for (int kind = 0; kind < static_cast<int>(format::kSpanKinds); ++kind) {
    format::Span& span =
        Add(static_cast<format::SpanKind>(kind), "x", UINT64_MAX, 0);  // ends before it begins
    span.pid = INT64_MIN;
    span.tid = -1;
    span.device = INT32_MAX;
    span.name = span.category = 0xFFFFFF;  // no such text
    span.value = span.connection = UINT64_MAX;
    span.detail = 77;
  }
  output_->Spans(batch_);
  EXPECT_GE(Finish().events.size(), format::kSpanKinds - 4);
}

}  // namespace
}  // namespace profd::client
