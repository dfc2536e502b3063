#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "client/export/arguments.h"
#include "client/export/inventory.h"
#include "client/export/read/capture.h"
#include "client/export/read/slices.h"
#include "format/check/stamp_spikes.h"
#include "format/directory/side_facts.h"
#include "format/records/device.h"
#include "format/records/packed.h"

namespace profd::client {
namespace {

using format::HbmRecord;

class Directory : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() / ("profd-source-" + std::to_string(::getpid()));
    std::filesystem::create_directories(root_ / "device_0" / "data");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void Slice(const std::string& file, int number, const std::string& bytes) {
    std::ofstream(root_ / "device_0" / "data" / (file + ".0.slice_" + std::to_string(number))) << bytes;
  }
  static std::string Records(uint64_t from, uint64_t to) {
    std::string bytes;
    for (uint64_t i = from; i < to; ++i) {
      const HbmRecord record = {i * 1000 + 1000, i + 5, 0, 1};
      bytes.append(reinterpret_cast<const char*>(&record), sizeof record);
    }
    return bytes;
  }
  // The numbers (counts less 5) of the records that are read.
  std::vector<uint64_t> Read() {
    const auto capture = OpenCapture(root_, true, open_report_);
    const Stream* stream = capture->sides[0].Find("hbm.data");
    Framed framed;
    framed.by = Framed::By::kRecord;
    framed.check = framed.stamps = format::FindStreamFormat("hbm.data", format::Chip::k910B);
    framed.stamps_per_second = 1'000'000;
    framed.record_bytes = sizeof(HbmRecord);
    StreamReader reader(*capture, *stream, framed, report_);
    std::vector<uint64_t> numbers;
    for (auto piece = reader.Next(); !piece.empty(); piece = reader.Next()) {
      EXPECT_EQ(piece.size() % sizeof(HbmRecord), 0u);
      losses_ += reader.lost();
      for (; !piece.empty(); piece = piece.subspan(sizeof(HbmRecord))) {
        numbers.push_back(format::Load<HbmRecord>(piece.data()).count - 5);
      }
    }
    return numbers;
  }
  static std::vector<uint64_t> Numbers(uint64_t from, uint64_t to) {
    std::vector<uint64_t> numbers;
    for (uint64_t i = from; i < to; ++i) numbers.push_back(i);
    return numbers;
  }

  std::filesystem::path root_;
  Report open_report_, report_;
  int losses_ = 0;
};

TEST_F(Directory, RecordsMayBeCutByTheEndOfASlice) {
  const std::string all = Records(0, 100'000);
  Slice("hbm.data", 0, all.substr(0, 1'500'007));
  Slice("hbm.data", 1, all.substr(1'500'007));
  EXPECT_EQ(Read(), Numbers(0, 100'000));
  EXPECT_TRUE(report_.complete());
  EXPECT_EQ(losses_, 0);
}

TEST_F(Directory, WithoutItsFirstSlicesTheStreamIsAlignedToItsEnd) {
  Slice("hbm.data", 7, Records(0, 100).substr(5));
  EXPECT_EQ(Read(), Numbers(1, 100));
  EXPECT_TRUE(report_.complete());
  EXPECT_EQ(report_.notes().size(), 1u);
}

TEST_F(Directory, ATornEndCostsOneRecord) {
  Slice("hbm.data", 0, Records(0, 100).substr(0, 100 * sizeof(HbmRecord) - 7));
  EXPECT_EQ(Read(), Numbers(0, 99));
  ASSERT_EQ(report_.skipped().size(), 1u);
  EXPECT_EQ(report_.skipped()[0].offset, 99 * sizeof(HbmRecord));
  EXPECT_EQ(report_.skipped()[0].bytes, sizeof(HbmRecord) - 7);
}

TEST_F(Directory, AMissingSliceCostsWhatItCut) {
  const std::string all = Records(0, 300);
  const size_t third = 100 * sizeof(HbmRecord) + 11;
  Slice("hbm.data", 0, all.substr(0, third));
  Slice("hbm.data", 2, all.substr(2 * third));
  std::vector<uint64_t> expected = Numbers(0, 100);
  for (uint64_t i = 201; i < 300; ++i) expected.push_back(i);
  EXPECT_EQ(Read(), expected);
  EXPECT_EQ(losses_, 1);
  EXPECT_FALSE(report_.complete());
}

TEST_F(Directory, BadBytesInTheMiddleAreLeftOutAndTheRestIsRead) {
  std::string all = Records(0, 100);
  all.insert(50 * sizeof(HbmRecord), "garbage");  // shifts all that follows
  all[20 * sizeof(HbmRecord) + offsetof(HbmRecord, event)] = 9;
  all[30 * sizeof(HbmRecord) + 6] = 1;  // a time of years
  Slice("hbm.data", 0, all);
  std::vector<uint64_t> expected;
  for (uint64_t i = 0; i < 100; ++i) {
    if (i != 20 && i != 30) expected.push_back(i);
  }
  EXPECT_EQ(Read(), expected);
  EXPECT_EQ(report_.skipped().size(), 3u);
}

// As a user may leave them for root to look at: a terabyte that takes no room.
TEST_F(Directory, HolesAreLeftOutAndNotRead) {
  constexpr uint64_t kHole = (uint64_t{1} << 40) + 4096;
  const std::string all = Records(0, 300);  // 24 bytes each: the hole begins and ends within a record
  const uint64_t first = 4096, second = 2048;
  Slice("hbm.data", 0, all.substr(0, first));
  const std::filesystem::path slice = root_ / "device_0" / "data" / "hbm.data.0.slice_0";
  std::filesystem::resize_file(slice, first + kHole);
  std::ofstream(slice, std::ios::app) << all.substr(first, second);
  Slice("hbm.data", 1, all.substr(first + second));
  const std::vector<uint64_t> numbers = Read();
  // What the hole has cut, and what is needed to find in again, but no more.
  EXPECT_GT(numbers.size(), 290U);
  EXPECT_EQ(numbers.front(), 0U);
  EXPECT_EQ(numbers.back(), 299U);
  EXPECT_TRUE(std::ranges::is_sorted(numbers));
  EXPECT_GT(losses_, 0);
  uint64_t skipped = 0;
  for (const Skipped& part : report_.skipped()) {
    EXPECT_EQ(part.stream, "device_0/data/hbm.data.0.slice_0");
    EXPECT_GE(part.offset + part.bytes, first);
    skipped += part.bytes;
  }
  EXPECT_GE(skipped, kHole);
  EXPECT_LT(skipped, kHole + 1000);
}

TEST_F(Directory, AFileThatIsNothingButAHoleIsReadInNoTime) {
  Slice("hbm.data", 0, "");
  std::filesystem::resize_file(root_ / "device_0" / "data" / "hbm.data.0.slice_0", uint64_t{1} << 40);
  EXPECT_TRUE(Read().empty());
  ASSERT_EQ(report_.skipped().size(), 2U);  // the rest is less than a record
  EXPECT_EQ(report_.skipped()[0].why, "is a hole: nothing was ever written there");
}

TEST_F(Directory, LinesAreGivenWholeWhateverTheSlices) {
  Slice("nic.data", 0, "one\ntw");
  Slice("nic.data", 1, "o\nthree\nfo");
  const auto capture = OpenCapture(root_, true, open_report_);
  Framed framed;
  framed.by = Framed::By::kLine;
  StreamReader reader(*capture, *capture->sides[0].Find("nic.data"), framed, report_);
  std::vector<std::string> pieces;
  for (auto piece = reader.Next(); !piece.empty(); piece = reader.Next()) {
    pieces.emplace_back(reinterpret_cast<const char*>(piece.data()), piece.size());
  }
  EXPECT_EQ(pieces, (std::vector<std::string>{"one\n", "two\nthree\n", "fo"}));
}

TEST_F(Directory, AForeignDevicesFileIsNotRead) {
  std::ofstream(root_ / "device_0" / "data" / "hbm.data.3.slice_0") << Records(0, 1);
  Slice("pcie.data", 0, "x");
  const auto capture = OpenCapture(root_, true, open_report_);
  EXPECT_EQ(capture->sides[0].Find("hbm.data"), nullptr);
  EXPECT_NE(capture->sides[0].Find("pcie.data"), nullptr);
  EXPECT_FALSE(open_report_.complete());
}

TEST(FindCaptures, TellsWhatIsNone) {
  EXPECT_EQ(FindCaptures("/proc/none").status().code(), base::Code::kNotFound);
  EXPECT_EQ(FindCaptures("/etc/passwd").status().code(), base::Code::kInvalidArgument);
}

TEST(Spikes, OneStampThatJumpsAwayIsFoundAClockThatBeginsAnewIsNot) {
  const format::StreamFormat& format = *format::FindStreamFormat("hbm.data", format::Chip::k910B);
  const auto good = [&](const std::vector<uint64_t>& times) {
    std::vector<HbmRecord> records;
    records.reserve(times.size());
    for (const uint64_t time : times) records.push_back({time, 1, 0, 0});
    format::StampSpikes spikes(format, 1000, 0);
    return spikes.Good(std::as_bytes(std::span(records)));
  };
  EXPECT_EQ(good({10, 10, 20, 20, 30}), 5u);
  EXPECT_EQ(good({10, 10, 900, 20, 30}), 2u);
  EXPECT_EQ(good({10, 20, 3, 20, 30}), 2u);
  EXPECT_EQ(good({1000, 1010, 10, 20, 30}), 5u);
  EXPECT_EQ(good({10, 20, 900, 910, 920}), 5u);
}

TEST(Moments, GapsAreWhatIsMuchLongerThanUsual) {
  Moments moments;
  for (uint64_t i = 0; i < 1000; ++i) moments.Add(i * 20 + (i > 500 ? 700 : 0));
  EXPECT_EQ(moments.gaps(), 1u);
  EXPECT_EQ(moments.longest_gap_ns(), 720u);
}

TEST(Arguments, Times) {
  EXPECT_EQ(ParseTimePoint("--from", "+1.5s")->ns, 1'500'000'000u);
  EXPECT_TRUE(ParseTimePoint("--from", "+250ms")->behind_begin);
  EXPECT_EQ(ParseTimePoint("--from", "+250ms")->ns, 250'000'000u);
  EXPECT_EQ(ParseTimePoint("--to", "@1700000000.25")->ns, 1'700'000'000'250'000'000u);
  ::setenv("TZ", "UTC", 1);
  ::tzset();
  EXPECT_EQ(ParseTimePoint("--to", "2023-11-14 22:13:20.5")->ns, 1'700'000'000'500'000'000u);
  EXPECT_EQ(ParseTimePoint("--to", "2023-11-14T22:13:20")->ns, 1'700'000'000'000'000'000u);
  for (const char* text :
       {"", "x", "+", "@", "+-1s", "+1d", "2023-11-14", "2023-02-31 00:00:00", "2023-11-14 22:13:20.",
        "2023-11-14 22:13:20x", "@1e300", "+nan", "99999-01-01 00:00:00"}) {
    EXPECT_FALSE(ParseTimePoint("--to", text).ok()) << text;
  }
}

TEST(Arguments, FormatsKindsAndJobs) {
  EXPECT_EQ(ParseFormats("csv,chrome,csv")->size(), 2u);
  EXPECT_FALSE(ParseFormats("csv,").ok());
  EXPECT_TRUE(ParseKinds("hbm,task,host-cpu").ok());
  EXPECT_EQ(ParseKinds("hbn").status().message(), "--kinds 'hbn': did you mean hbm?");
  EXPECT_TRUE(ParseKinds("foo").status().message().starts_with("--kinds 'foo': there are: ")) << "qos is far";
  EXPECT_EQ(*ParseJobs("3"), 3u);
  EXPECT_FALSE(ParseJobs("0").ok());
  EXPECT_FALSE(ParseJobs("3x").ok());
}

TEST(SideFacts, NumbersMayBeTextAndOnlyTheFirstLineCounts) {
  format::SideFacts facts;
  ASSERT_TRUE(
      format::ParseInfoJson(R"({"platform_version":"5","pid":"NA","rank_id":3,"CPU":[{"Frequency":"100.0"}],)"
                            R"("DeviceInfo":[{"hwts_frequency":"49.999001","ctrl_cpu":"0,1","ai_cpu":""}]})"
                            "\n{",
                            facts)
          .ok());
  EXPECT_EQ(facts.chip, format::Chip::k910B);
  EXPECT_EQ(facts.pid, 0);
  EXPECT_EQ(facts.rank_id, 3);
  EXPECT_EQ(facts.counter_mhz, 49.999001);
  EXPECT_EQ(facts.ctrl_cpus, (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(facts.ai_cpus.empty());
  EXPECT_FALSE(format::ParseInfoJson("{\n}", facts).ok());
  ASSERT_TRUE(format::ParseSampleJson(R"({"hbm_profiling_events":"read","qosEvents":"a,b",)"
                                      R"("ai_core_profiling_events":"0x8,0xA,x","profLevel":"l1"})",
                                      facts)
                  .ok());
  EXPECT_EQ(facts.hbm_events.size(), 1u);
  EXPECT_EQ(facts.aic_events, (std::vector<uint32_t>{8, 10}));
}

}  // namespace
}  // namespace profd::client
