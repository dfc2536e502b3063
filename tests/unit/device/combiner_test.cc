#include "daemon/device/streams/combiner.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/device/streams/records.h"
#include "daemon/driver/driver.h"
#include "fakes.h"
#include "format/records/packed.h"

namespace profd::device {
namespace {

using format::Load;

const format::StreamFormat& Format(std::string_view file, format::Chip chip = driver::Chip::k910B) {
  return *format::FindStreamFormat(file, chip);
}

std::string CombineAll(const format::StreamFormat& format, uint32_t periods, const std::string& stream,
                       bool flush = true) {
  FakeWriter writer;
  Outlet out({1, 1}, std::make_shared<chunk::StreamStats>(), writer.pipe());
  const auto combiner = MakeCombiner(format, periods);
  EXPECT_NE(combiner, nullptr);
  ForEachRecord(format, reinterpret_cast<const std::byte*>(stream.data()),
                static_cast<uint32_t>(stream.size()),
                [&](const std::byte* record, uint32_t bytes) { combiner->Add(record, bytes, out, 1); });
  if (flush) combiner->Flush(out, 1);
  out.Push();
  return writer[1].bytes;
}

template <typename Record>
std::vector<Record> Records(const std::string& bytes) {
  EXPECT_EQ(bytes.size() % sizeof(Record), 0U);
  std::vector<Record> records;
  for (size_t at = 0; at + sizeof(Record) <= bytes.size(); at += sizeof(Record)) {
    records.push_back(Load<Record>(bytes.data() + at));
  }
  return records;
}

TEST(Combiner, CountsOfPeriodsAreAddedPerUnitWithTheLastStamp) {
  std::string stream;
  for (uint64_t i = 0; i < 7; ++i) stream += HbmPeriod(20'000 * (i + 1), i);
  const auto records = Records<format::HbmRecord>(CombineAll(Format("hbm.data"), 3, stream));
  ASSERT_EQ(records.size(), 3 * 8U);
  for (size_t group = 0; group < 3; ++group) {
    const uint64_t last = std::min<uint64_t>(group * 3 + 2, 6);
    for (uint32_t i = 0; i < 8; ++i) {
      const format::HbmRecord& record = records[group * 8 + i];
      uint64_t sum = 0;
      for (uint64_t period = group * 3; period <= last; ++period) sum += period * 8 + i;
      EXPECT_EQ(record.count, sum);
      EXPECT_EQ(record.time_us, 20'000 * (last + 1));
      EXPECT_EQ(record.event, i & 1);
      EXPECT_EQ(record.hbm_id, i / 2);
    }
  }
}

TEST(Combiner, AGroupGoesOutOnlyWhenItIsComplete) {
  std::string stream;
  for (uint64_t i = 0; i < 3; ++i) stream += HbmPeriod(20'000 * (i + 1), i);
  EXPECT_EQ(CombineAll(Format("hbm.data"), 3, stream, false), "");
  EXPECT_EQ(CombineAll(Format("hbm.data"), 3, stream + HbmPeriod(80'000, 9), false).size(),
            HbmPeriod(0, 0).size());
}

TEST(Combiner, AUnitThatMissesAPeriodKeepsTheCommonStamp) {
  std::string stream =
      HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2).substr(sizeof(format::HbmRecord)) + HbmPeriod(60'000, 3);
  const auto records = Records<format::HbmRecord>(CombineAll(Format("hbm.data"), 2, stream));
  ASSERT_EQ(records.size(), 16U);
  for (size_t i = 0; i < 16; ++i) EXPECT_EQ(records[i].time_us, i < 8 ? 40'000U : 60'000U);
  EXPECT_EQ(records[0].count, 8U);
  EXPECT_EQ(records[1].count, 9U + 17U);
}

TEST(Combiner, A32BitCountStopsAtItsLimit) {
  std::string stream;
  for (uint32_t i = 0; i < 2; ++i)
    stream += Bytes(format::DdrRecord{20'000 * i, 0x9000'0000, 0, 0, 0xFFFFFFFF});
  const auto records =
      Records<format::DdrRecord>(CombineAll(Format("ddr.data", driver::Chip::k910), 2, stream));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].count, 0xFFFFFFFFU);
  EXPECT_EQ(records[0].master, 0xFFFFFFFFU);
}

TEST(Combiner, CoresAreSummedEachWithItsOwnStamp) {
  std::string stream;
  for (uint64_t period = 0; period < 4; ++period) {
    for (uint8_t core = 0; core < 3; ++core) {
      format::CoreSampleRecord record{};
      record.mode = 1;
      record.event[0] = 10;
      record.event[7] = core;
      record.cycles = 1000;
      record.time_ns = 1'000'000'000 + period * 10'000'000 + core;
      record.counters = 8;
      record.core = core;
      stream += Bytes(record);
    }
  }
  const auto records = Records<format::CoreSampleRecord>(CombineAll(Format("ffts_profile.data"), 2, stream));
  ASSERT_EQ(records.size(), 6U);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(records[i].core, i % 3);
    EXPECT_EQ(records[i].event[0], 20U);
    EXPECT_EQ(records[i].event[7], 2 * (i % 3));
    EXPECT_EQ(records[i].cycles, 2000U);
    EXPECT_EQ(records[i].time_ns, 1'000'000'000 + (i / 3 * 2 + 1) * 10'000'000 + i % 3);
    EXPECT_EQ(records[i].mode, 1);
  }
}

TEST(Combiner, PcieKeepsTheExtremesAndTheMean) {
  std::string stream;
  for (uint32_t i = 0; i < 3; ++i) {
    format::PcieRecord record{};
    record.time_ns = 1000 + i;
    record.device = 3;
    record.tx_posted = {10 - i, 20 + i, 15 + 3 * i};
    record.rx_posted = i == 1 ? format::PcieTriple{0xFFFFF, 0, 0} : format::PcieTriple{4, 8, 5 + i};
    record.rx_completion = {0xFFFFF, 0, 0};
    stream += Bytes(record);
  }
  const auto records = Records<format::PcieRecord>(CombineAll(Format("pcie.data"), 3, stream, false));
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].time_ns, 1002U);
  EXPECT_EQ(records[0].device, 3U);
  EXPECT_EQ(records[0].tx_posted.min, 8U);
  EXPECT_EQ(records[0].tx_posted.max, 22U);
  EXPECT_EQ(records[0].tx_posted.avg, 18U);
  EXPECT_EQ(records[0].rx_posted.min, 4U);
  EXPECT_EQ(records[0].rx_posted.avg, 6U);
  EXPECT_EQ(records[0].rx_completion.min, 0xFFFFFU);
}

TEST(Combiner, RunningTotalsKeepTheLastOfEveryN) {
  std::string stream;
  std::string wanted;
  for (int i = 1; i <= 10; ++i) {
    const std::string line = "7:00000000" + std::to_string(i % 10) + " " + std::to_string(i * 5) + " 0\n";
    stream += line;
    if (i % 3 == 0) wanted += line;
  }
  EXPECT_EQ(CombineAll(Format("hccs.data"), 3, stream), wanted);
}

TEST(Combiner, TextIsThinnedPerUnit) {
  const auto roce = [](int n, int function) {
    return "7:00000000" + std::to_string(n) + " 1 2 3 4 5 6 7 8 9 10 11 12 13 " + std::to_string(function) +
           "\n";
  };
  std::string stream;
  for (int i = 1; i <= 4; ++i) {
    stream += roce(i, 0);
    if (i != 1) stream += roce(i, 10);  // shows up later
  }
  EXPECT_EQ(CombineAll(Format("roce.data"), 2, stream), roce(2, 0) + roce(3, 10) + roce(4, 0));

  const auto dvpp = [](int n, int type, int engine) {
    return "7:00000000" + std::to_string(n) + " 0 " + std::to_string(type) + " " + std::to_string(engine) +
           " 10 20 30% 40 50 60% 70 80\n";
  };
  stream.clear();
  for (int i = 1; i <= 4; ++i) stream += dvpp(i, 0, 0) + dvpp(i, 0, 1) + dvpp(i, 4, 0);
  EXPECT_EQ(CombineAll(Format("dvpp.data"), 4, stream), dvpp(4, 0, 0) + dvpp(4, 0, 1) + dvpp(4, 4, 0));
}

TEST(Combiner, LevelsAreThinnedPerUnit) {
  std::string stream;
  std::string wanted;
  for (uint32_t i = 0; i < 4; ++i) {
    for (uint32_t module = 0; module < 3; ++module) {
      const std::string record = Bytes(format::NpuModuleMemRecord{module, 1, 5'000'000 + i, 100 * i});
      stream += record;
      if (i % 2 == 1) wanted += record;
    }
  }
  EXPECT_EQ(CombineAll(Format("npu_module_mem.data"), 2, stream), wanted);
}

TEST(Combiner, MoreUnitsThanAnyChipHasPassAsTheyAre) {
  std::string stream;
  for (uint32_t module = 0; module < 1000; ++module) {
    stream += Bytes(format::NpuModuleMemRecord{module, 1, 5'000'000, 1});
  }
  const std::string combined = CombineAll(Format("npu_module_mem.data"), 1000, stream + stream);
  EXPECT_LE(combined.size(), stream.size() * 2);
}

TEST(Combiner, EventDrivenKindsAreNotCombined) {
  EXPECT_EQ(MakeCombiner(Format("lpmInfoConv.data"), 4), nullptr);
  EXPECT_EQ(MakeCombiner(Format("stars_soc_profile.data"), 4), nullptr);
  EXPECT_EQ(MakeCombiner(Format("ts_track.data"), 4), nullptr);
}

}  // namespace
}  // namespace profd::device
