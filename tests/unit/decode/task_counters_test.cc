// l2_cache.data and socpmu.data: rates of what was counted, or the counts where no rate is made of them.
#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "format/decode/catalogue.h"
#include "format/records/tasks.h"

namespace profd::format {
namespace {

class Sink : public RowSink, public SpanSink {
 public:
  void Rows(const RowBatch& batch) override {
    const size_t keys = batch.series->keys.size(), columns = batch.series->columns.size();
    for (size_t i = 0; i < batch.rows(); ++i) {
      std::string row(batch.series->name);
      for (size_t k = 0; k < keys; ++k) row += " " + std::to_string(batch.keys[i * keys + k]);
      row += " =";
      for (size_t c = 0; c < columns; ++c) {
        char text[32];
        std::snprintf(text, sizeof text, " %g", batch.values[i * columns + c]);
        row += text;
      }
      rows.push_back(row);
    }
  }
  void Spans(const SpanBatch&) override {}
  std::vector<std::string> rows;
};

class Decoding {
 public:
  Decoding(std::string file, Chip chip) : file_(std::move(file)) {
    side.device = 0;
    side.chip = chip;
    side.begin_wall_ns = 1'700'000'000'000'000'000;
    context_.side = &side;
    context_.clocks = &clocks_;
    context_.rows = &sink_;
    context_.spans = &sink_;
    context_.texts = &texts_;
  }
  template <typename Record>
  std::vector<std::string> Of(const std::vector<Record>& records) {
    int64_t pid = 0;
    const DecoderEntry* entry = FindDecoder(file_, side, pid);
    const auto decoder = entry->make(context_, file_, pid);
    decoder->Take(std::as_bytes(std::span(records)));
    decoder->Finish();
    EXPECT_EQ(decoder->records(), records.size());
    ignored = decoder->ignored();
    return sink_.rows;
  }

  SideFacts side;
  std::map<std::string_view, uint64_t> ignored;

 private:
  const std::string file_;
  ClockMap clocks_{50, 0};
  Texts texts_;
  DecodeContext context_;
  Sink sink_;
};

using Strings = std::vector<std::string>;

TEST(L2Cache, HitsAndVictimsOfTheRequests) {
  Decoding of_910("l2_cache.data", Chip::k910);
  of_910.side.l2_events = {0x5b, 0x59, 0x5c, 0x7d, 0x7e, 0x71, 0x79, 0x7c};
  EXPECT_EQ(of_910.Of<L2CacheRecord>({{0, 3, 7, 0, {75, 100, 10, 1, 1, 1, 1, 1}}}),
            Strings{"l2_cache 3 7 = 0.75 0.1"});
  Decoding of_310p("l2_cache.data", Chip::k310P);
  of_310p.side.l2_events = {0x78, 0x79, 0x77, 0x71, 0x6a, 0x6c, 0x74, 0x62};
  EXPECT_EQ(of_310p.Of<L2CacheRecord>({{0, 3, 8, 0, {150, 50, 9, 20, 100, 9, 9, 9}}}),
            Strings{"l2_cache 3 8 = 0.5 0.1"});
  Decoding of_310b("l2_cache.data", Chip::k310B);
  of_310b.side.l2_events = {0xf6, 0xfb, 0xfc, 0xbf, 0x90, 0x91, 0x9c, 0x9d};
  EXPECT_EQ(of_310b.Of<L2CacheRecord>({{0, 3, 9, 0, {9, 60, 40, 9, 20, 5, 300, 9}}}),
            Strings{"l2_cache 3 9 = 0.25 3"})
      << "more victims than requests there may be";
}

TEST(L2Cache, NoRequestsNoRate) {
  Decoding decoding("l2_cache.data", Chip::k910);
  decoding.side.l2_events = {0x59, 0x5b, 0x5c};
  EXPECT_EQ(decoding.Of<L2CacheRecord>({{0, 3, 7, 0, {}}}), Strings{"l2_cache 3 7 = nan nan"});
}

TEST(L2Cache, OtherEventsAreThere) {
  Decoding decoding("l2_cache.data", Chip::k910);
  decoding.side.l2_events = {0x59, 0x5c};
  EXPECT_EQ(decoding.Of<L2CacheRecord>({{0, 3, 7, 0, {5, 6, 7}}}),
            (Strings{"soc_events 3 7 65625 = 5", "soc_events 3 7 65628 = 6"}));
  Decoding unnamed("l2_cache.data", Chip::k910);
  EXPECT_EQ(unnamed.Of<L2CacheRecord>({{0, 3, 7, 0, {5, 6, 7}}}), Strings{});
  EXPECT_EQ(unnamed.ignored.size(), 1U);
}

TEST(SocPmu, OneRecordAUnit) {
  Decoding decoding("socpmu.data", Chip::k910B);
  decoding.side.ha_events = {0xf6, 0xfb, 0xfc, 0xbf, 0x90, 0x91, 0x9c, 0x9d};
  decoding.side.smmu_events = {0x2, 0x8a, 0x8b, 0x8c, 0x8d};
  EXPECT_EQ(decoding.Of<SocPmuRecord>({{{}, 0, 3, 7, 1, {9, 60, 40, 9, 20, 5, 10, 9}},
                                       {{}, 0, 3, 7, 2, {10, 100, 9, 50, 25}},
                                       {{}, 0, 3, 7, 4, {1}}}),
            (Strings{"l2_cache 3 7 = 0.25 0.1", "soc_pmu 3 7 = 0.75 0.1"}));
  EXPECT_EQ(decoding.ignored.at("of page faults, which are not used"), 1U);
}

// Its hits are what is left of the requests, and its tasks have numbers of 32 bits.
TEST(SocPmu, Of950) {
  Decoding decoding("socpmu.data", Chip::k950);
  decoding.side.ha_events = {0x00, 0x81, 0x82, 0x83, 0x74, 0x75};
  EXPECT_EQ(decoding.Of<SocPmuRecord950>({{{}, 1, 0, 3, 70'000, {100, 1, 2, 3, 4, 10}}}),
            Strings{"l2_cache 3 70000 = 0.8 0.14"});
}

TEST(SocPmu, EventsByNumber) {
  Decoding decoding("socpmu.data", Chip::k950);
  decoding.side.ha_events = {0x2};
  decoding.side.noc_events = {0x1, 0x3f};
  EXPECT_EQ(decoding.Of<SocPmuRecord950>({{{}, 1, 0, 3, 7, {5}}, {{}, 3, 0, 3, 7, {6, 7}}}),
            (Strings{"soc_events 3 7 65538 = 5", "soc_events 3 7 196609 = 6", "soc_events 3 7 196671 = 7"}));
}

}  // namespace
}  // namespace profd::format
