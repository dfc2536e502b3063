#include "daemon/device/streams/framer.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "daemon/driver/driver.h"
#include "fakes.h"

namespace profd::device {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kFar = 1'000'000 * kMs;  // host time at which any number of periods may have passed

const format::StreamFormat& Format(std::string_view file, format::Chip chip = driver::Chip::k910B) {
  const format::StreamFormat* format = format::FindStreamFormat(file, chip);
  EXPECT_NE(format, nullptr) << file;
  return *format;
}

struct Total {
  std::string bytes;
  uint64_t records = 0;
  uint64_t damaged_bytes = 0;
  uint64_t damaged_records = 0;
  uint64_t missing_records = 0;
};

// Feeds `stream` in pieces of the sizes that `next_size` gives.
template <typename NextSize>
Total FrameInPieces(const format::StreamFormat& format, uint32_t period_ms, const std::string& stream,
                    NextSize&& next_size) {
  Framer framer(format, period_ms, 50, 0);
  Total total;
  std::vector<std::byte> buffer(framer.max_carry() + stream.size());
  const auto feed = [&](const char* bytes, size_t size, bool last) {
    const uint32_t carried = framer.CarryInto(buffer.data());
    EXPECT_LE(carried, framer.max_carry());
    std::memcpy(buffer.data() + carried, bytes, size);
    const Framed framed = framer.Frame(buffer.data(), carried + static_cast<uint32_t>(size), kFar, last);
    total.bytes.append(reinterpret_cast<const char*>(buffer.data()), framed.bytes);
    total.records += framed.records;
    total.damaged_bytes += framed.damaged_bytes;
    total.damaged_records += framed.damaged_records;
    total.missing_records += framed.missing_records;
  };
  for (size_t at = 0; at < stream.size();) {
    const size_t size = std::min<size_t>(next_size(), stream.size() - at);
    feed(stream.data() + at, size, false);
    at += size;
  }
  feed(stream.data(), 0, true);
  return total;
}

Total FrameWhole(const format::StreamFormat& format, uint32_t period_ms, const std::string& stream) {
  return FrameInPieces(format, period_ms, stream, [&] { return stream.size(); });
}

std::string HbmStream(uint64_t periods) {
  std::string stream;
  for (uint64_t i = 0; i < periods; ++i) stream += HbmPeriod(20'000 * (i + 1), i);
  return stream;
}

std::string HccsLine(uint64_t n) {
  char line[96];
  std::snprintf(line, sizeof line, "%llu:%09llu %llu %llu\n", static_cast<unsigned long long>(7 + n / 50),
                static_cast<unsigned long long>(n % 50 * 20'000'000),
                static_cast<unsigned long long>(n * 1000), static_cast<unsigned long long>(n * 3000));
  return line;
}

std::string HccsStream(uint64_t lines) {
  std::string stream = format::kHccsHeader;
  for (uint64_t i = 0; i < lines; ++i) stream += HccsLine(i);
  return stream;
}

std::string PcieStream(uint64_t records) {
  std::string stream;
  for (uint64_t i = 0; i < records; ++i) {
    format::PcieRecord record{};
    record.time_ns = 5'000'000'000 + i * 20'000'000;
    record.tx_posted = {1, 3, 2};
    record.rx_posted = {4, 6, static_cast<uint32_t>(i)};
    stream += Bytes(record);
  }
  return stream;
}

TEST(Framer, TwoPiecesCutAtEveryByteGiveTheSameRecords) {
  const std::string stream = HbmStream(3);
  for (size_t cut = 0; cut <= stream.size(); ++cut) {
    size_t pieces = 0;
    const Total total = FrameInPieces(Format("hbm.data"), 20, stream,
                                      [&] { return ++pieces == 1 && cut != 0 ? cut : stream.size(); });
    ASSERT_TRUE(total.bytes == stream) << "cut at " << cut;
    ASSERT_EQ(total.records, 24U);
    ASSERT_EQ(total.damaged_bytes + total.missing_records, 0U) << "cut at " << cut;
  }
}

TEST(Framer, AnySplitGivesTheSameRecords) {
  const std::string text = HccsStream(200);
  const std::string lines = text.substr(sizeof(format::kHccsHeader) - 1);
  struct Case {
    const char* file;
    std::string stream;
    std::string wanted;
  };
  const Case cases[] = {{"hbm.data", HbmStream(40), HbmStream(40)},
                        {"pcie.data", PcieStream(100), PcieStream(100)},
                        {"hccs.data", text, lines},
                        {"ts_track.data", HbmStream(5), HbmStream(5)}};
  std::mt19937 random(1);
  for (const Case& c : cases) {
    for (int round = 0; round < 200; ++round) {
      std::uniform_int_distribution<size_t> size(1, round % 2 == 0 ? 40 : 700);
      const Total total = FrameInPieces(Format(c.file), 20, c.stream, [&] { return size(random); });
      ASSERT_TRUE(total.bytes == c.wanted) << c.file;
      ASSERT_EQ(total.damaged_bytes + total.damaged_records + total.missing_records, 0U) << c.file;
    }
  }
}

TEST(Framer, ABadRecordIsCutOutWhereItStands) {
  std::string stream = HbmStream(4);
  const size_t at = 5 * sizeof(format::HbmRecord);
  std::memset(stream.data() + at, 0xFF, sizeof(format::HbmRecord));
  const Total total = FrameWhole(Format("hbm.data"), 20, stream);
  EXPECT_TRUE(total.bytes == std::string(stream).erase(at, sizeof(format::HbmRecord)));
  EXPECT_EQ(total.records, 31U);
  EXPECT_EQ(total.damaged_records, 1U);
  EXPECT_EQ(total.damaged_bytes, sizeof(format::HbmRecord));
  EXPECT_EQ(total.missing_records, 0U);
}

TEST(Framer, ABadRecordAtAnyPlaceOfAnySplitCostsOnlyItself) {
  const std::string clean = HbmStream(4);
  std::mt19937 random(2);
  for (size_t bad = 0; bad < 32; ++bad) {
    std::string stream = clean;
    std::memset(stream.data() + bad * sizeof(format::HbmRecord), 0xFF, sizeof(format::HbmRecord));
    std::uniform_int_distribution<size_t> size(1, 90);
    const Total total = FrameInPieces(Format("hbm.data"), 20, stream, [&] { return size(random); });
    ASSERT_TRUE(total.bytes ==
                std::string(clean).erase(bad * sizeof(format::HbmRecord), sizeof(format::HbmRecord)))
        << bad;
    ASSERT_EQ(total.damaged_records, 1U) << bad;
  }
}

// What a driver's overwritten ring looks like: some bytes are not there, on no edge.
TEST(Framer, FindsTheRecordsAgainAfterAnyCut) {
  std::string idle;
  std::string busy;
  for (uint64_t i = 0; i < 40; ++i) {
    for (uint32_t k = 0; k < 8; ++k) {
      const uint64_t time = 20'000 * (i + 1);
      idle += Bytes(format::HbmRecord{time, 0, k & 1, k / 2});
      busy += Bytes(format::HbmRecord{time, 3'000'000 + i * 1000 + k, k & 1, k / 2});
    }
  }
  std::mt19937 random(3);
  for (const std::string& clean : {HbmStream(40), idle, busy}) {
    for (int round = 0; round < 500; ++round) {
      const size_t from = std::uniform_int_distribution<size_t>(24, clean.size() / 2)(random);
      const size_t gone = std::uniform_int_distribution<size_t>(1, 600)(random);
      std::string stream = clean;
      stream.erase(from, gone);
      std::uniform_int_distribution<size_t> size(1, 300);
      const Total total = FrameInPieces(Format("hbm.data"), 20, stream, [&] { return size(random); });
      // Every byte is a record's or counted, and all but the torn record's neighbourhood is there.
      ASSERT_EQ(total.bytes.size() + total.damaged_bytes, stream.size());
      ASSERT_EQ(total.bytes.size() % sizeof(format::HbmRecord), 0U);
      ASSERT_LE(total.damaged_bytes, 3 * sizeof(format::HbmRecord)) << gone << " bytes gone at " << from;
      const size_t tail = clean.size() - from - gone - 2 * sizeof(format::HbmRecord);
      const size_t whole_tail = tail - tail % sizeof(format::HbmRecord);
      ASSERT_TRUE(total.bytes.substr(total.bytes.size() - whole_tail) ==
                  clean.substr(clean.size() - whole_tail))
          << gone << " bytes gone at " << from;
    }
  }
}

TEST(Framer, NoiseIsCountedToTheLastByte) {
  std::mt19937 random(4);
  for (int round = 0; round < 50; ++round) {
    std::string stream = HbmStream(2);
    std::string noise(std::uniform_int_distribution<size_t>(1, 5000)(random), '\0');
    for (char& c : noise) c = static_cast<char>(random());
    stream += noise + HbmStream(3);
    std::uniform_int_distribution<size_t> size(1, 900);
    const Total total = FrameInPieces(Format("hbm.data"), 0, stream, [&] { return size(random); });
    ASSERT_EQ(total.bytes.size() + total.damaged_bytes, stream.size());
    ASSERT_GE(total.records, 5 * 8 - 1U);
    ASSERT_NE(total.damaged_records, 0U);
  }
}

TEST(Framer, EveryKindSurvivesNoise) {
  std::mt19937 random(8);
  for (const char* file :
       {"hbm.data", "llc.data", "ddr.data", "pcie.data", "npu_mem.data", "npu_module_mem.data", "qos.data",
        "ub.data", "lpmInfoConv.data", "stars_soc_profile.data", "tscpu.data", "aicore.data",
        "ffts_profile.data", "aicpu.data", "socpmu.data", "ccu0.stat"}) {
    for (int round = 0; round < 20; ++round) {
      std::string noise(std::uniform_int_distribution<size_t>(1, 20'000)(random), '\0');
      const uint32_t most = round % 2 == 0 ? 255 : 1;  // few bits set look most like records
      for (char& c : noise) c = static_cast<char>(random() % (most + 1));
      std::uniform_int_distribution<size_t> size(1, 5000);
      const Total total = FrameInPieces(Format(file), 20, noise, [&] { return size(random); });
      ASSERT_EQ(total.bytes.size() + total.damaged_bytes, noise.size()) << file;
      ASSERT_EQ(total.bytes.size(), total.records * Format(file).record_bytes) << file;
    }
  }
}

TEST(Framer, ARecordCutOffAtTheEndIsLost) {
  const std::string stream = HbmStream(1) + "0123456";
  const Total total = FrameWhole(Format("hbm.data"), 20, stream);
  EXPECT_TRUE(total.bytes == HbmStream(1));
  EXPECT_EQ(total.damaged_bytes, 7U);
  EXPECT_EQ(total.damaged_records, 1U);
}

TEST(Framer, TheTextAtTheEndOfAiCpuRecordsIsNoDamage) {
  std::string records;
  for (int i = 0; i < 5; ++i) {
    format::AiCpuRecord record{};
    record.magic = format::kReportMagic;
    records += Bytes(record);
  }
  std::mt19937 random(9);
  for (const size_t names : {10, 1000}) {
    const std::string stream = records + "###drv_hashdata###\n" + std::string(names, '7');
    for (int round = 0; round < 50; ++round) {
      std::uniform_int_distribution<size_t> size(1, 300);
      const Total total = FrameInPieces(Format("aicpu.data"), 10, stream, [&] { return size(random); });
      ASSERT_TRUE(total.bytes == records);
      ASSERT_EQ(total.damaged_bytes + total.damaged_records, 0U);
    }
  }
}

TEST(Framer, MissingPeriodsAreCounted) {
  std::string stream;
  for (uint64_t i = 1; i <= 20; ++i) {
    if (i < 8 || i > 10) stream += HbmPeriod(20'000 * i, i);
  }
  const Total total = FrameInPieces(Format("hbm.data"), 20, stream, [] { return 100; });
  EXPECT_TRUE(total.bytes == stream);
  EXPECT_EQ(total.missing_records, 3 * 8U);
}

TEST(Framer, AGapThatDamageMadeIsNotCountedTwice) {
  std::string stream = HbmStream(10);
  const size_t period = 8 * sizeof(format::HbmRecord);
  std::memset(stream.data() + 4 * period, 0xFF, period);  // the whole fifth period
  const Total total = FrameWhole(Format("hbm.data"), 20, stream);
  EXPECT_EQ(total.damaged_records, 8U);
  EXPECT_EQ(total.missing_records, 0U);
}

TEST(Framer, KindsWithAVaryingNumberOfRecordsCountGapsByTheLastPeriod) {
  std::string stream;
  for (const uint32_t time : {20'000U, 40'000U, 80'000U}) {
    for (uint32_t i = 0; i < 6; ++i) stream += Bytes(format::DdrRecord{time, i, i & 1, i / 2, 0xFFFFFFFF});
  }
  EXPECT_EQ(FrameWhole(Format("ddr.data", driver::Chip::k910), 20, stream).missing_records, 6U);
}

TEST(Framer, StampsOf32BitsWrap) {
  std::string stream;
  for (uint32_t i = 0; i < 10; ++i) {
    const uint32_t time = 0xFFFFFFFF - 90'000 + i * 20'000;
    stream += Bytes(format::NpuMemRecord{time, 1, 0, 1 << 20, 1 << 20});
  }
  const Total total = FrameWhole(Format("npu_mem.data"), 20, stream);
  EXPECT_EQ(total.records, 10U);
  EXPECT_EQ(total.missing_records + total.damaged_bytes, 0U);
}

// Two halves of different records can look like one; its stamp gives it away.
TEST(Framer, AStampThatLeapsAndComesBackIsDamage) {
  std::string stream;
  for (uint64_t i = 0; i < 20; ++i) {
    format::PcieRecord record{};
    record.time_ns = 5'000'000'000 + i * 20'000'000;
    if (i == 6) record.time_ns = 3'000'000'000;
    if (i == 11) record.time_ns = 5'000'000'000'000;
    stream += Bytes(record);
  }
  std::mt19937 random(5);
  for (int round = 0; round < 50; ++round) {
    std::uniform_int_distribution<size_t> size(1, 400);
    const Total total = FrameInPieces(Format("pcie.data"), 20, stream, [&] { return size(random); });
    ASSERT_EQ(total.records, 18U);
    ASSERT_EQ(total.damaged_records, 2U);
    ASSERT_EQ(total.missing_records, 0U);
  }
}

TEST(Framer, TimeThatBeginsAnewIsNoDamage) {
  const std::string stream = HbmStream(5) + HbmStream(5);
  const Total total = FrameInPieces(Format("hbm.data"), 20, stream, [] { return 24; });
  EXPECT_TRUE(total.bytes == stream);
  EXPECT_EQ(total.damaged_records + total.missing_records, 0U);
}

// As a simulator's flood does: prepared records again and again.
TEST(Framer, RepeatedRecordsAreNoDamage) {
  std::string stream;
  for (int round = 0; round < 20; ++round) {
    for (uint32_t i = 1; i <= 500; ++i) {
      stream +=
          Bytes(format::NpuMemRecord{20'000 * i, 0, 0, 0x13000000, (uint64_t{7} << 32) | (i % 7 * 0x370fb1)});
    }
  }
  const Total total = FrameInPieces(Format("npu_mem.app"), 20, stream, [] { return 5000; });
  EXPECT_TRUE(total.bytes == stream);
  EXPECT_EQ(total.damaged_bytes + total.missing_records, 0U);
}

TEST(Framer, NoMorePeriodsAreMissingThanTheHostSawGoBy) {
  Framer framer(Format("hbm.data"), 20, 0, 0);
  std::string stream = HbmPeriod(20'000, 0) + HbmPeriod(20'000'000'000, 1);
  const Framed framed = framer.Frame(reinterpret_cast<std::byte*>(stream.data()),
                                     static_cast<uint32_t>(stream.size()), 1000 * kMs, false);
  EXPECT_EQ(framed.records, 16U);
  EXPECT_GT(framed.missing_records, 0U);
  EXPECT_LE(framed.missing_records, (1000 / 20 + 64) * 8U);
}

TEST(Framer, HeadersAndTornLinesAreCutOut) {
  const std::string stream =
      HccsStream(3) + "12:00 77\n" + "x y z\n" + HccsLine(3) + HccsStream(0) + HccsLine(4) + "9:0";
  const std::string wanted = HccsLine(0) + HccsLine(1) + HccsLine(2) + HccsLine(3) + HccsLine(4);
  std::mt19937 random(6);
  for (int round = 0; round < 100; ++round) {
    std::uniform_int_distribution<size_t> size(1, 60);
    const Total total = FrameInPieces(Format("hccs.data"), 20, stream, [&] { return size(random); });
    ASSERT_TRUE(total.bytes == wanted);
    ASSERT_EQ(total.records, 5U);
    // "x y z" begins like a header.
    ASSERT_EQ(total.damaged_records, 2U);
    ASSERT_EQ(total.damaged_bytes, std::string("12:00 77\n9:0").size());
  }
}

TEST(Framer, LinesOfAnyLengthAfterEachOther) {
  std::mt19937_64 random(8);
  const auto number = [&random] { return std::to_string(random() >> random() % 64); };
  std::string stream;
  for (uint64_t i = 0; i < 2000; ++i) {
    const std::string ns = std::to_string(1'000'000'000 + i % 50 * 20'000'000).substr(1);
    // Now and then two that are together as long as the one before them.
    if (i % 7 == 0) {
      stream += std::to_string(100 + i / 50) + ":" + ns + " 1234567890 1234567890\n";
    } else {
      stream += std::to_string(100 + i / 50) + ":" + ns +
                (i % 7 < 3 ? " 1 1\n" : " " + number() + " " + number() + "\n");
    }
  }
  const Total total = FrameInPieces(Format("hccs.data"), 20, stream, [] { return size_t{5000}; });
  EXPECT_TRUE(total.bytes == stream);
  EXPECT_EQ(total.records, 2000U);
  EXPECT_EQ(total.damaged_bytes + total.missing_records, 0U);
}

TEST(Framer, AnEndlessLineIsSkippedInBoundedMemory) {
  const std::string endless(50'000, '7');
  const std::string stream = HccsLine(0) + endless + "\n" + HccsLine(1);
  std::mt19937 random(7);
  for (int round = 0; round < 20; ++round) {
    std::uniform_int_distribution<size_t> size(1, 3000);
    const Total total = FrameInPieces(Format("hccs.data"), 20, stream, [&] { return size(random); });
    ASSERT_TRUE(total.bytes == HccsLine(0) + HccsLine(1));
    ASSERT_EQ(total.damaged_bytes, endless.size() + 1);
    ASSERT_EQ(total.damaged_records, 1U);
  }
}

TEST(Framer, TextPeriodsThatAreMissingAreCounted) {
  const std::string stream = HccsLine(0) + HccsLine(1) + HccsLine(5);
  EXPECT_EQ(FrameWhole(Format("hccs.data"), 20, stream).missing_records, 3U);
}

}  // namespace
}  // namespace profd::device
