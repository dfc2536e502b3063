#include "daemon/device/streams/subscriber.h"

#include <gtest/gtest.h>

#include <string>

#include "daemon/driver/driver.h"
#include "fakes.h"

namespace profd::device {
namespace {

class SubscriberTest : public testing::Test {
 protected:
  const format::StreamFormat& Format(std::string_view file, format::Chip chip = driver::Chip::k910B) {
    return *format::FindStreamFormat(file, chip);
  }

  // What a session gets of `stream`; both ways of delivery must agree.
  std::string Delivered(std::string_view file, const Join* join, const std::string& stream,
                        format::Chip chip = driver::Chip::k910B) {
    const format::StreamFormat& format = Format(file, chip);
    const auto* bytes = reinterpret_cast<const std::byte*>(stream.data());
    const auto size = static_cast<uint32_t>(stream.size());
    uint32_t records = 0;
    ForEachRecord(format, bytes, size, [&](const std::byte*, uint32_t) { ++records; });

    FakeWriter writer;
    const auto stats = std::make_shared<chunk::StreamStats>();
    Subscriber copying(format, {1, 1}, stats, writer.pipe(), join);
    copying.Deliver(bytes, size, records, 5);
    copying.Finish(5, true);
    copying.outlet().Push();
    const FakeWriter::Stream copied = writer[1];
    EXPECT_EQ(stats->read_bytes, copied.bytes.size());
    EXPECT_EQ(stats->read_records, copied.records);

    if (copying.in_place()) {
      Subscriber in_place(format, {1, 2}, std::make_shared<chunk::StreamStats>(), writer.pipe(), join);
      EXPECT_TRUE(in_place.outlet().Ready());
      std::memcpy(in_place.outlet().chunk().data, stream.data(), stream.size());
      in_place.DeliverInPlace(size, records, 5);
      in_place.outlet().Push();
      EXPECT_TRUE(writer[2].bytes == copied.bytes);
      EXPECT_EQ(writer[2].records, copied.records);
    }
    return copied.bytes;
  }
};

TEST_F(SubscriberTest, TheFirstSessionGetsTheBytesAsTheyAre) {
  const std::string stream = HbmPeriod(20'000, 1) + HbmPeriod(40'000, 2);
  EXPECT_TRUE(Delivered("hbm.data", nullptr, stream) == stream);
}

TEST_F(SubscriberTest, StampsFromTheStartAreCountedFromTheLaterSession) {
  const Join join{.channel_start_ns = 7'000'000'000, .session_start_ns = 7'000'050'000, .periods = 1};
  std::string stream;
  for (const uint64_t time : {10, 49, 50, 70}) stream += HbmPeriod(time, time);
  EXPECT_TRUE(Delivered("hbm.data", &join, stream) == HbmPeriod(0, 50) + HbmPeriod(20, 70));
}

TEST_F(SubscriberTest, ASessionWhoseClockPairIsOlderThanTheChannelGetsLaterStamps) {
  const Join join{.channel_start_ns = 7'000'050'000, .session_start_ns = 7'000'000'000, .periods = 1};
  EXPECT_TRUE(Delivered("hbm.data", &join, HbmPeriod(10, 1)) == HbmPeriod(60, 1));
}

TEST_F(SubscriberTest, WrappedStampsAreRebasedToo) {
  const auto ddr = [](uint32_t time) { return Bytes(format::DdrRecord{time, 1, 0, 0, 0xFFFFFFFF}); };
  // The channel has run for 72 minutes: its stamps began anew 26.5 s ago.
  const uint64_t ran_us = (uint64_t{1} << 32) + 26'500'000;
  const Join join{.channel_start_ns = 1'000, .session_start_ns = 1'000 + ran_us * 1000, .periods = 1};
  const std::string stream =
      ddr(26'499'999) + ddr(26'500'010) + ddr(26'600'000) + ddr(26'500'000 + 0x9000'0000);
  EXPECT_TRUE(Delivered("ddr.data", &join, stream, driver::Chip::k910) ==
              ddr(10) + ddr(100'000) + ddr(0x9000'0000));
}

TEST_F(SubscriberTest, DeviceTimeStaysButOldRecordsGo) {
  const auto line = [](int second) { return std::to_string(second) + ":000000000 1 2\n"; };
  const Join join{.channel_start_ns = 0, .session_start_ns = 8'000'000'000, .periods = 1};
  EXPECT_EQ(Delivered("hccs.data", &join, line(6) + line(7) + line(8) + line(9)), line(8) + line(9));
}

TEST_F(SubscriberTest, StampsThatNeverReachTheStartDoNotSilenceASession) {
  const Join join{.channel_start_ns = 0, .session_start_ns = 50'000'000, .periods = 1};
  const std::string stream = HbmPeriod(10, 1);
  FakeWriter writer;
  Subscriber subscriber(Format("hbm.data"), {1, 1}, std::make_shared<chunk::StreamStats>(), writer.pipe(),
                        &join);
  const auto at = [&](uint64_t now_ns) {
    subscriber.Deliver(reinterpret_cast<const std::byte*>(stream.data()),
                       static_cast<uint32_t>(stream.size()), 8, now_ns);
    subscriber.outlet().Push();
    return writer[1].records;
  };
  EXPECT_EQ(at(1'000'000'000), 0U);  // may be from before
  EXPECT_EQ(at(2'900'000'000), 0U);
  EXPECT_EQ(at(3'000'000'000), 8U);  // none of it is
  EXPECT_EQ(at(3'100'000'000), 16U);
}

TEST_F(SubscriberTest, RecordsAreRebasedBeforeTheyAreCombined) {
  const Join join{.channel_start_ns = 0, .session_start_ns = 50'000'000, .periods = 2};
  std::string stream;
  for (uint64_t i = 1; i <= 6; ++i) stream += HbmPeriod(20'000 * i, 100);
  // 20 and 40 ms are before the start, 60+80 and 100+120 are one each.
  std::string wanted;
  for (const uint64_t time : {30'000, 70'000}) {
    for (uint32_t i = 0; i < 8; ++i) wanted += Bytes(format::HbmRecord{time, 2 * (800 + i), i & 1, i / 2});
  }
  EXPECT_TRUE(Delivered("hbm.data", &join, stream) == wanted);
}

TEST_F(SubscriberTest, MoreThanAChunkIsSplitOnRecords) {
  FakeWriter writer(8 << 10, 64);
  Subscriber subscriber(Format("hbm.data"), {1, 1}, std::make_shared<chunk::StreamStats>(), writer.pipe(),
                        nullptr);
  std::string stream;
  for (uint64_t i = 0; i < 200; ++i) stream += HbmPeriod(i, i);
  subscriber.Deliver(reinterpret_cast<const std::byte*>(stream.data()), static_cast<uint32_t>(stream.size()),
                     1600, 5);
  subscriber.outlet().Push();
  EXPECT_TRUE(writer[1].bytes == stream);
  EXPECT_EQ(writer[1].records, 1600U);
  EXPECT_TRUE(writer.in_order());
}

TEST_F(SubscriberTest, WithoutChunksRecordsAreLostAndCounted) {
  FakeWriter writer(8 << 10, 2);
  const auto stats = std::make_shared<chunk::StreamStats>();
  Subscriber subscriber(Format("hbm.data"), {1, 1}, stats, writer.pipe(), nullptr);
  std::string stream;
  for (uint64_t i = 0; i < 200; ++i) stream += HbmPeriod(i, i);
  subscriber.Deliver(reinterpret_cast<const std::byte*>(stream.data()), static_cast<uint32_t>(stream.size()),
                     1600, 5);
  subscriber.outlet().Push();
  const FakeWriter::Stream& got = writer[1];
  EXPECT_TRUE(got.bytes == stream.substr(0, got.bytes.size()));
  EXPECT_GT(stats->lost_records, 0U);
  EXPECT_EQ(got.records + stats->lost_records, 1600U);
  EXPECT_EQ(got.bytes.size() + stats->lost_bytes, stream.size());
  EXPECT_EQ(stats->read_records, 1600U);
  EXPECT_EQ(LostRecords(got, format::Loss::Where::kPool), stats->lost_records);
}

}  // namespace
}  // namespace profd::device
