// Instruction profiling: how busy the pipes of a core were, from counters that go round or from changes.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "format/decode/catalogue.h"
#include "format/records/tasks.h"

namespace profd::format {
namespace {

constexpr uint64_t kWall = 1'700'000'000'000'000'000, kTicks = 145'000'000'000;

class Sink : public RowSink, public SpanSink {
 public:
  void Rows(const RowBatch& batch) override {
    const size_t keys = batch.series->keys.size(), columns = batch.series->columns.size();
    for (size_t i = 0; i < batch.rows(); ++i) {
      std::string row(batch.series->name);
      row += " +" + std::to_string(batch.wall_ns[i] - kWall);
      for (size_t k = 0; k < keys; ++k) {
        const int64_t key = batch.keys[i * keys + k];
        row += " " + (k == 2 ? pipes[static_cast<size_t>(key)] : std::to_string(key));
      }
      for (size_t c = 0; c < columns; ++c) {
        char text[32];
        std::snprintf(text, sizeof text, " %g", batch.values[i * columns + c]);
        row += text;
      }
      rows.push_back(row);
    }
  }
  void Label(const Series&, int, size_t, int64_t value, std::string_view text) override {
    pipes.resize(std::max<size_t>(pipes.size(), static_cast<size_t>(value) + 1));
    pipes[static_cast<size_t>(value)] = text;
  }
  void Spans(const SpanBatch&) override {}

  std::vector<std::string> rows, pipes;
};

class Decoding {
 public:
  Decoding(std::string file, Chip chip) : file_(std::move(file)) {
    side.device = 0;
    side.chip = chip;
    side.counter_mhz = 1000;
    side.aic_mhz = 800;
    side.instr_cycles = 2000;
    side.begin_wall_ns = kWall;
    side.at_start = {5'000'000'000'000, 77, kWall, 3'000'000'000'000, kTicks, 0};
    clocks_.Add(side.at_start);
    context_.side = &side;
    context_.clocks = &clocks_;
    context_.rows = &sink_;
    context_.spans = &sink_;
    context_.texts = &texts_;
    int64_t pid = 0;
    decoder_ = FindDecoder(file_, side, pid)->make(context_, file_, pid);
  }
  template <typename Record>
  const std::vector<std::string>& Of(const std::vector<Record>& records) {
    sink_.rows.clear();
    decoder_->Take(std::as_bytes(std::span(records)));
    decoder_->Finish();
    return sink_.rows;
  }
  Decoder& decoder() { return *decoder_; }

  SideFacts side;

 private:
  const std::string file_;
  ClockMap clocks_{1000, 0};
  Texts texts_;
  DecodeContext context_;
  Sink sink_;
  std::unique_ptr<Decoder> decoder_;
};

InstrCycles Counters(std::vector<uint32_t> counters) {
  InstrCycles cycles{};
  for (size_t i = 0; i < counters.size(); ++i) {
    const uint32_t bits = counters[i] << (i % 2 * 12);
    for (size_t byte = 0; byte < 3; ++byte)
      cycles.busy[i / 2 * 3 + byte] |= static_cast<uint8_t>(bits >> (8 * byte));
  }
  return cycles;
}

using Strings = std::vector<std::string>;

TEST(Instr, CountersOfAVectorCoreGoRound) {
  Decoding decoding("instr.group_3_aiv1", Chip::k910B);
  EXPECT_EQ(decoding.Of<InstrVectorRecord>({{{}, Counters({4000, 10, 9, 1, 2, 3})}}), Strings{});
  // 500 of 2000 clocks, across 4096; 2.5 µs after the first.
  EXPECT_EQ(decoding.Of<InstrVectorRecord>({{{}, Counters({404, 1010, 9, 1, 202, 2003})}}),
            (Strings{"instr_busy +2500 3 2 Vector 0.25", "instr_busy +2500 3 2 Scalar 0.5",
                     "instr_busy +2500 3 2 Mte1 0", "instr_busy +2500 3 2 Mte2 0.1",
                     "instr_busy +2500 3 2 Mte3 1"}));
  decoding.decoder().Lost();
  EXPECT_EQ(decoding.Of<InstrVectorRecord>({{{}, Counters({1, 1, 1, 1, 1, 1})}}), Strings{})
      << "nobody knows how often they went round";
}

TEST(Instr, AnAiCoreTellsOfItsBus) {
  InstrFlow flow{};
  flow.read_latency[1] = 2;  // 512
  flow.write_latency[0] = 7;
  flow.read_bytes[2] = 1;  // 65536
  flow.write_bytes[0] = 9;
  const auto record = [&flow](const InstrCycles& cycles) {
    InstrCubeRecord cube{};
    for (size_t i = 0; i < 4; ++i) {
      std::memcpy(&cube.turn[i].flow, reinterpret_cast<const char*>(&flow) + 8 * i, 8);
      std::memcpy(&cube.turn[i].cycles, reinterpret_cast<const char*>(&cycles) + 8 * i, 8);
    }
    return cube;
  };
  Decoding decoding("instr.group_24_aic", Chip::k910B);
  const auto& rows = decoding.Of<InstrCubeRecord>(
      {record(Counters({0, 0, 0, 0, 0, 0})), record(Counters({9, 0, 1000, 0, 0, 0}))});
  ASSERT_EQ(rows.size(), 7u);
  EXPECT_EQ(rows[1], "instr_busy +2500 24 0 Cube 0.5") << "and no vector unit";
  EXPECT_EQ(rows[5], "instr_flow +0 24 512 7 65536 9");
  EXPECT_EQ(rows[6], "instr_flow +2500 24 512 7 65536 9");
}

TEST(Instr, ChangesOfA950) {
  std::vector<BiuRecord> records = {{5, kBiuState << 12 | 1}};  // nobody knows when
  for (int i = 0; i < 4; ++i)
    records.push_back({static_cast<uint16_t>((kTicks + 1000) >> (16 * i)), kBiuStamp << 12});
  records.push_back({800, kBiuState << 12 | 0b101});  // 1 µs later SU and CUBE begin
  records.push_back({80, 3 << 12});                   // a check point, 100 ns later
  records.push_back({720, kBiuState << 12 | 0b100});
  records.push_back({0xFFFF, 0xEFFF});
  records.push_back({0xDDDD, 0xDDDD});
  Decoding decoding("instr.biu_perf_group2_aiv0", Chip::k950);
  EXPECT_EQ(decoding.Of(records), (Strings{"instr_busy +2000 2 1 SU 1", "instr_busy +2000 2 1 CUBE 1",
                                           "instr_busy +3000 2 1 SU 0"}));
  EXPECT_EQ(decoding.decoder().ignored().at("before the first stamp"), 1u);
  EXPECT_EQ(decoding.decoder().ignored().at("of check points, which are not used"), 1u);
  EXPECT_EQ(decoding.decoder().records(), records.size());
}

TEST(Instr, NobodySaysHowManyClocks) {
  SideFacts side;
  side.device = 0;
  side.chip = Chip::k910B;
  DecodeContext context;
  context.side = &side;
  int64_t pid = 0;
  EXPECT_EQ(FindDecoder("instr.group_0_aic", side, pid)->make(context, "instr.group_0_aic", 0), nullptr);
}

}  // namespace
}  // namespace profd::format
