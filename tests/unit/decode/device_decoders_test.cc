#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "format/decode/catalogue.h"
#include "format/records/device.h"
#include "tests/unit/decode/decoding.h"

namespace profd::format {
namespace {

constexpr double kMb = 1 << 20;

std::vector<HbmRecord> HbmPeriod(uint64_t time_us, uint64_t count) {
  std::vector<HbmRecord> records;
  for (const uint32_t event : {0u, 1u}) {
    for (uint32_t id = 0; id < 4; ++id) records.push_back({time_us, count + id, event, id});
  }
  return records;
}

TEST(Hbm, RateIsBytesOfThePeriodAndTheFirstPeriodHasNone) {
  Decoding decoding("hbm.data");
  decoding.Take(HbmPeriod(20'000, 100));
  decoding.Take(HbmPeriod(40'000, 100));
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 16u);
  EXPECT_TRUE(std::isnan(rows[0].values[0]));
  EXPECT_EQ(rows[0].after_begin_ns, 20'000'000u);
  EXPECT_EQ(rows[8 + 5].keys, (std::vector<int64_t>{1, 1}));
  EXPECT_DOUBLE_EQ(rows[8 + 5].values[0], 101 * 32 / 0.02);
}

TEST(Hbm, AnyNumberOfStacksIsRightByDefaultAndTheVendorsFaultOnRequest) {
  for (const bool vendor_compatible : {false, true}) {
    Decoding decoding("hbm.data");
    decoding.context.vendor_compatible = vendor_compatible;
    for (uint64_t period = 1; period <= 6; ++period) {
      for (const uint32_t event : {0u, 1u}) {
        for (uint32_t id = 0; id < 2; ++id)
          decoding.Take(std::vector<HbmRecord>{{period * 20'000, 1000, event, id}});
      }
    }
    const auto& rows = decoding.Finish();
    ASSERT_EQ(rows.size(), 24u);
    // Two stacks: the parser, which looks eight rows back, finds two periods instead of one.
    EXPECT_DOUBLE_EQ(rows.back().values[0], 1000 * 32 / (vendor_compatible ? 0.04 : 0.02));
  }
}

TEST(Hbm, WhatIsLostMakesThePeriodBehindItUnknown) {
  Decoding decoding("hbm.data");
  decoding.Take(HbmPeriod(20'000, 100));
  decoding.Take(HbmPeriod(40'000, 100));
  decoding.decoder().Lost();
  decoding.Take(HbmPeriod(400'000, 100));
  decoding.Take(HbmPeriod(420'000, 100));
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 32u);
  EXPECT_TRUE(std::isnan(rows[16].values[0]));
  EXPECT_DOUBLE_EQ(rows[24].values[0], 100 * 32 / 0.02);
}

TEST(Ddr, ControllersAreAddedUpAndStampsUnwrapped) {
  Decoding decoding("ddr.data", Chip::k310P);
  constexpr uint32_t kBeforeWrap = 0xFFFFFFFF - 9'999;
  for (const uint32_t time : {kBeforeWrap, kBeforeWrap + 20'000}) {
    for (uint32_t controller = 0; controller < 2; ++controller) {
      decoding.Take(std::vector<DdrRecord>{{time, 500, 0, controller, 0xFFFFFFFF},
                                           {time, 250, 1, controller, 0xFFFFFFFF}});
    }
  }
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].after_begin_ns, (uint64_t{kBeforeWrap} + 20'000) * 1000);
  EXPECT_DOUBLE_EQ(rows[1].values[0], 1000 * 32 / 0.02);
  EXPECT_DOUBLE_EQ(rows[1].values[1], 500 * 32 / 0.02);
}

TEST(Llc, PeriodsThatAreCutGiveNothing) {
  Decoding decoding("llc.data");
  const auto period = [&](uint64_t time, size_t from, size_t to) {
    for (size_t i = from; i < to; ++i)
      decoding.Take(std::vector<LlcRecord>{{time, 10, kLlcReadEvents[i], 0}});
  };
  period(20'000, 0, 8);
  period(40'000, 0, 8);
  period(60'000, 0, 3);
  decoding.decoder().Lost();
  period(60'000, 5, 8);
  period(80'000, 0, 8);
  period(100'000, 0, 8);
  const auto& rows = decoding.Finish();
  std::vector<uint64_t> times;
  for (const Row& row : rows) times.push_back(row.after_begin_ns / 1'000'000);
  EXPECT_EQ(times, (std::vector<uint64_t>{20, 40, 100}));
  EXPECT_DOUBLE_EQ(rows[1].values[0], 2.0);
  EXPECT_DOUBLE_EQ(rows[1].values[1], 20 * 64 / 0.02);
}

TEST(Hccs, RunningTotalsBecomeRates) {
  Decoding decoding("hccs.data");
  decoding.Take(
      "time_stamp(s):time_stamp(ns) send_amount receive_amount\n"
      "3000:020000000 0 0\n3000:040000000 6291456 4194304\n3000:060000000 6000000 9000000\n"
      "3000:080000000 x 1\n3000:100000000 12000000 18000000\n");
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].after_begin_ns, 40'000'000u);
  EXPECT_DOUBLE_EQ(rows[0].values[0], 300 * kMb);
  EXPECT_DOUBLE_EQ(rows[1].values[1], 9'000'000 / 0.04);
  EXPECT_EQ(decoding.rejected(), 2u);
}

TEST(Hccs, VendorSkipsTheFirstLineOfASliceAndHasNoLastValue) {
  Decoding decoding("hccs.data");
  decoding.context.vendor_compatible = true;
  decoding.Take(
      "3000:020000000 0 0\n3000:040000000 100 100\n3000:060000000 200 200\n3000:080000000 300 300\n");
  EXPECT_EQ(decoding.Finish().size(), 1u);
}

TEST(Port, EfficiencyIsAPartOfTheSpeed) {
  Decoding decoding("roce.data");
  decoding.Take(
      "3000:020000000 100000 1000 1310720000 1000 1250000 5 1 2000 2621440000 2000 2500000 0 0 3 0\n");
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].keys[0], 3);
  EXPECT_DOUBLE_EQ(rows[0].values[0], 100000 * kMb / 8);
  EXPECT_DOUBLE_EQ(rows[0].values[13], 0.1);
  EXPECT_DOUBLE_EQ(rows[0].values[14], 0.005);
}

TEST(Port, ALineThatLostItsEndIsNoLine) {
  Decoding decoding("nic.data");
  decoding.Take("3000:020000000 1 1 1 1 1 0 0 1 1 1 1 0 11 0\n3000:040000000 1 1 1 2 2 0 0 1 1 2 2 0 1");
  EXPECT_EQ(decoding.Finish().size(), 1u);
  EXPECT_EQ(decoding.rejected(), 1u);
}

TEST(Pcie, NoValueCountsAsZero) {
  Decoding decoding("pcie.data");
  PcieRecord record{};
  record.time_ns = kDeviceNs + 1'000;
  record.tx_posted = {0xFFFFF, 0, 0};
  record.rx_completion = {1, 3, 2};
  PcieRecord upside_down = record;
  upside_down.tx_posted = {5, 4, 4};
  decoding.Take(std::vector<PcieRecord>{record, upside_down});
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_EQ(rows[0].after_begin_ns, 1'000u);
  EXPECT_EQ(rows[0].values[0], 0);
  EXPECT_EQ(rows[0].values[20], 2e6);
  EXPECT_EQ(decoding.rejected(), 1u);
}

TEST(LowPower, TheValueAtTheBeginIsThatOfTheLastChangeBefore) {
  Decoding decoding("lpmInfoConv.data");
  LowPowerRecord freq{};
  freq.count = 3;
  freq.sample[0] = {144'000'000'000, 900, 0};
  freq.sample[1] = {144'900'000'000, 1100, 0};
  freq.sample[2] = {145'000'050'000, 800, 0};
  LowPowerRecord volts = freq;
  volts.type = 1;
  volts.count = 60;  // no record has more than 55
  decoding.Take(std::vector<LowPowerRecord>{freq, volts});
  const auto& rows = decoding.Finish();
  ASSERT_GE(rows.size(), 2u);
  EXPECT_EQ(rows[0].after_begin_ns, 0u);
  EXPECT_EQ(rows[0].values[0], 1100e6);
  EXPECT_EQ(rows[1].after_begin_ns, 1'000'000u);
  EXPECT_EQ(rows[1].values[0], 800e6);
}

TEST(Qos, StreamsHaveTheNamesThatWereAskedFor) {
  Decoding decoding("qos.data");
  QosRecord record{};
  record.ticks = 145'000'050'000;
  record.bandwidth_mb_s[1] = 7;
  decoding.Take(std::vector<QosRecord>{record});
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[1].values[0], 7 * kMb);
  EXPECT_EQ(decoding.sink.labels, (std::map<int64_t, std::string>{{0, "mpam1"}, {1, "mpam2"}}));
}

TEST(Cores, AverageOfAMomentAndUsageOfTheClock) {
  Decoding decoding("ffts_profile.data");
  const auto sample = [](uint64_t us, uint8_t core, uint64_t cycles) {
    CoreSampleRecord record{};
    record.mode = 1;
    record.cycles = cycles;
    record.time_ns = kDeviceNs + us * 1000;
    record.counters = 8;
    record.core = core;
    return record;
  };
  decoding.Take(std::vector<CoreSampleRecord>{sample(1000, 0, 1), sample(1000, 30, 1),
                                              sample(2000, 0, 500'000), sample(2000, 1, 7),
                                              sample(2000, 30, 250'000)});
  const auto& rows = decoding.Finish();
  ASSERT_EQ(rows.size(), 6u);  // no average of core 0 and 1, one of which has no period
  EXPECT_EQ(rows[2].keys, (std::vector<int64_t>{0, 0}));
  EXPECT_DOUBLE_EQ(rows[2].values[1], 0.5);
  EXPECT_EQ(rows[5].keys, (std::vector<int64_t>{-1, 1}));
  EXPECT_DOUBLE_EQ(rows[5].values[1], 0.25);
}

TEST(Catalogue, EveryEntryIsFoundByItsName) {
  for (const DecoderEntry& entry : DecoderEntries()) {
    SideFacts side;
    side.device = entry.of_host ? -1 : 0;
    side.chip = entry.layout_chips == Only({Chip::k310}) ? Chip::k310 : Chip::k910B;
    int64_t pid = 0;
    const std::string file = (entry.file.starts_with('-') ? "4711" : "") + std::string(entry.file);
    EXPECT_EQ(FindDecoder(file, side, pid), &entry) << file;
    EXPECT_EQ(pid, entry.file.starts_with('-') ? 4711 : 0);
    bool checks = false;
    if (entry.by != DecoderEntry::By::kRecord) continue;
    EXPECT_NE(RecordFormat(entry, file, side, checks), nullptr) << file;
  }
  SideFacts side;
  int64_t pid = 0;
  EXPECT_EQ(FindDecoder("nonsense.data", side, pid), nullptr);
  EXPECT_EQ(FindDecoder("", side, pid), nullptr);
}

}  // namespace
}  // namespace profd::format
