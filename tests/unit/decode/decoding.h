// Decodes files of a device, and keeps their rows.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/decode/catalogue.h"

namespace profd::format {

inline constexpr uint64_t kWall = 1'700'000'000'000'000'000;
inline constexpr uint64_t kDeviceNs = 3'000'000'000'000;

struct Row {
  std::string series;
  uint64_t after_begin_ns;
  std::vector<int64_t> keys;
  std::vector<double> values;
};

struct KeptSpan {
  std::string name;
  uint64_t after_begin_ns, ns;
  std::map<std::string, uint64_t> args;
};

class Sink : public RowSink, public SpanSink {
 public:
  void Rows(const RowBatch& batch) override {
    const size_t keys = batch.series->keys.size();
    const size_t columns = batch.series->columns.size();
    for (size_t i = 0; i < batch.rows(); ++i) {
      rows.push_back({std::string(batch.series->name),
                      batch.wall_ns[i] - kWall,
                      {batch.keys.begin() + i * keys, batch.keys.begin() + (i + 1) * keys},
                      {batch.values.begin() + i * columns, batch.values.begin() + (i + 1) * columns}});
    }
  }
  void Label(const Series&, int, size_t, int64_t value, std::string_view text) override {
    labels[value] = text;
  }
  void Spans(const SpanBatch& batch) override {
    spans += batch.spans.size();
    for (const format::Span& span : batch.spans) {
      KeptSpan one{
          std::string(batch.texts->Get(span.name)), span.begin_ns - kWall, span.end_ns - span.begin_ns, {}};
      for (const SpanArg& arg : batch.ArgsOf(span))
        one.args[std::string(batch.texts->Get(arg.key))] = arg.bits;
      kept.push_back(std::move(one));
    }
  }

  std::vector<Row> rows;
  std::map<int64_t, std::string> labels;
  size_t spans = 0;
  std::vector<KeptSpan> kept;
};

// Decodes a file of a device, and answers its rows.
class Decoding {
 public:
  explicit Decoding(std::string file, Chip chip = Chip::k910B) : file_(std::move(file)), clocks_(50, 0) {
    side.device = 0;
    side.chip = chip;
    side.counter_mhz = 50;
    side.aic_mhz = side.aiv_mhz = 1000;
    side.llc_mode = "read";
    side.qos_events = {"mpam1", "mpam2"};
    side.at_start = {5'000'000'000'000, 77, kWall, kDeviceNs, 145'000'000'000, 0};
    side.has_host_clock = side.has_device_clock = true;
    clocks_.Add(side.at_start);
    context.side = &side;
    context.clocks = &clocks_;
    context.rows = &sink;
    context.spans = &sink;
    context.texts = &texts_;
  }

  Decoder& decoder() {
    if (!decoder_) {
      int64_t pid = 0;
      const DecoderEntry* entry = FindDecoder(file_, side, pid);
      decoder_ = entry->make(context, file_, pid);
      decoder_->NextSlice();
    }
    return *decoder_;
  }
  template <typename Record>
  void Take(const std::vector<Record>& records) {
    decoder().Take(std::as_bytes(std::span(records)));
  }
  void Take(std::string_view text) { decoder().Take(std::as_bytes(std::span(text.data(), text.size()))); }
  const std::vector<Row>& Finish() {
    decoder().Finish();
    return sink.rows;
  }
  uint64_t rejected() const {
    uint64_t all = 0;
    for (const auto& [why, records] : decoder_->rejected()) all += records;
    return all;
  }

  SideFacts side;
  DecodeContext context;
  Sink sink;

 private:
  const std::string file_;
  ClockMap clocks_;
  Texts texts_;
  std::unique_ptr<Decoder> decoder_;
};

}  // namespace profd::format
