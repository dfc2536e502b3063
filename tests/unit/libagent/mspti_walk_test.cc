// Reading the vendor's buffers, and which of their records belong to a recording.
#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

#include "libagent/src/mspti/activity.h"
#include "libagent/src/mspti/pool.h"
#include "libagent/src/tables/spans.h"

namespace profd::agent {
namespace {

using mspti::Activity;
using mspti::Walker;

TEST(MsptiWalkTest, ReadsUnalignedRecords) {
  std::vector<uint8_t> bytes(1 + 56 + 24 + 4, 0xEE);
  const auto put = [&](size_t at, auto value) { std::memcpy(bytes.data() + 1 + at, &value, sizeof value); };
  put(0, uint32_t{2});
  put(4, uint64_t{100});
  put(12, uint64_t{200});
  put(20, uint32_t{7});
  put(24, uint32_t{9});
  put(28, uint64_t{42});
  put(36, static_cast<const char*>(nullptr));
  put(44, "name");
  put(56, uint32_t{8});  // external correlation: passed over
  Walker walker(bytes.data() + 1, bytes.size() - 1);
  Activity activity;
  ASSERT_TRUE(walker.Next(&activity));
  EXPECT_EQ(activity.begin_ns, 100U);
  EXPECT_EQ(activity.end_ns, 200U);
  EXPECT_EQ(activity.device, 7U);
  EXPECT_EQ(activity.stream, 9U);
  EXPECT_EQ(activity.correlation, 42U);
  EXPECT_STREQ(activity.name, "name");
  ASSERT_TRUE(walker.Next(&activity));
  EXPECT_EQ(activity.kind, 8U);
  EXPECT_FALSE(walker.Next(&activity));
  EXPECT_TRUE(walker.stuck());  // four bytes that are no record
  EXPECT_EQ(walker.Unread(), 1U);
}

// Nobody knows how long a record of an unknown kind is, nor where the next one begins.
TEST(MsptiWalkTest, WhatCannotBeReadIsReckoned) {
  std::vector<uint8_t> bytes;
  const auto put = [&](uint32_t kind, size_t size) {
    const size_t at = bytes.size();
    bytes.resize(at + size);
    std::memcpy(bytes.data() + at, &kind, sizeof kind);
  };
  const auto unread = [&](uint64_t readable) {
    Walker walker(bytes.data(), bytes.size());
    Activity activity;
    while (walker.Next(&activity)) --readable;
    EXPECT_EQ(readable, 0U);
    return walker.Unread();
  };
  EXPECT_EQ(unread(0), 0U);
  for (int i = 0; i < 10; ++i) put(mspti::kAclApiKind, 48);
  EXPECT_EQ(unread(10), 0U);
  put(13, 40);
  for (int i = 0; i < 99; ++i) put(mspti::kAclApiKind, 48);
  EXPECT_EQ(unread(10), 100U);
  bytes.erase(bytes.begin(), bytes.begin() + 10 * 48);
  EXPECT_EQ(unread(0), 86U);  // as kernels would be
}

// Of a buffer that nobody reads, too, but only where a recording ran.
TEST(PoolTest, WhatCannotBeReadIsCounted) {
  ASSERT_TRUE(mspti::OpenPool(-1));
  const auto fill = [] {
    uint8_t* bytes = nullptr;
    size_t size = 0, records = 0;
    mspti::Request(&bytes, &size, &records);
    const uint32_t unknown = 13;
    std::memcpy(bytes, &unknown, sizeof unknown);
    mspti::Complete(bytes, size, size_t{100} * 56);
  };
  fill();
  mspti::ClosePool();
  EXPECT_EQ(mspti::TakeSwallowed(), 0U);
  ASSERT_TRUE(mspti::OpenPool(-1));
  SpanBegins();
  fill();
  SpanEnds();
  mspti::ClosePool();
  EXPECT_EQ(mspti::TakeSwallowed(), 100U);
  mspti::TrimPool();
}

TEST(MsptiWalkTest, StopsAtWhateverIsNoRecord) {
  std::mt19937 random(1);
  for (int round = 0; round < 20'000; ++round) {
    std::vector<uint8_t> bytes(random() % 300);
    for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 4 == 0 ? random() % 14 : 0);
    Walker walker(bytes.data(), bytes.size());
    Activity activity;
    size_t records = 0;
    while (walker.Next(&activity)) ++records;
    EXPECT_LE(records * 24, bytes.size());
  }
}

// A burst takes more buffers than wait for the worker. Kinds of different lengths: what is overwritten is no
// record.
TEST(PoolTest, WhatNobodyReadsIsCounted) {
  ASSERT_TRUE(mspti::OpenPool(-1));
  SpanBegins();
  struct Out {
    uint8_t* bytes;
    size_t size, used;
  };
  std::vector<Out> out;
  uint64_t made = 0;
  const uint64_t now_ns = Now().wall_ns;
  for (int buffer = 0; buffer < 30; ++buffer) {
    Out one{};
    size_t records = 0;
    mspti::Request(&one.bytes, &one.size, &records);
    ASSERT_NE(one.bytes, nullptr);
    for (int record = 0; record < 100 + buffer; ++record, ++made) {
      const bool kernel = (record + buffer) % 3 != 0;
      const uint32_t kind = kernel ? mspti::kKernelKind : mspti::kAclApiKind;
      std::memcpy(one.bytes + one.used, &kind, sizeof kind);
      std::memcpy(one.bytes + one.used + 4, &now_ns, sizeof now_ns);
      std::memcpy(one.bytes + one.used + 12, &now_ns, sizeof now_ns);
      one.used += kernel ? 56 : 48;
    }
    out.push_back(one);
  }
  for (const Out& one : out) mspti::Complete(one.bytes, one.size, one.used);
  uint64_t read = 0;
  mspti::Buffer buffer;
  for (int taken = 0; taken < 3 && mspti::TakeFull(&buffer); ++taken) {
    Walker walker(buffer.bytes, buffer.valid);
    Activity activity;
    while (walker.Next(&activity)) ++read;
    mspti::Return(buffer);
  }
  SpanEnds();
  mspti::ClosePool();
  EXPECT_GT(read, 0U);
  EXPECT_EQ(read + mspti::TakeSwallowed(), made);
  mspti::TrimPool();
}

constexpr uint64_t kSecond = 1'000'000'000;

// So many seconds into the test, by clocks of which one may have stepped.
Moment At(double seconds, double stepped = 0) {
  constexpr uint64_t kWallNs = 1'700'000'000 * kSecond, kRawNs = 4000 * kSecond;
  const auto ns = [](double seconds) { return static_cast<int64_t>(seconds * 1e9); };
  return {kWallNs + static_cast<uint64_t>(ns(seconds) + ns(stepped)),
          kRawNs + static_cast<uint64_t>(ns(seconds))};
}

TEST(SpansTest, WhatHappenedWhileARecordingRan) {
  const Filled filled = {At(9), At(21)};
  const auto was_recording = [&](double begin, double end) {
    return WasRecording(At(begin).wall_ns, At(end).wall_ns, filled);
  };
  SpanBegins(At(10));
  EXPECT_FALSE(was_recording(9.1, 9.9));
  EXPECT_TRUE(was_recording(9.1, 10.1));
  EXPECT_TRUE(was_recording(10.1, 10.2));
  SpanEnds(At(12));
  SpanEnds(At(14));
  EXPECT_FALSE(was_recording(12.5, 12.6));
  SpanBegins(At(13));
  EXPECT_TRUE(was_recording(11, 11));
  EXPECT_FALSE(was_recording(12.5, 12.6));
  EXPECT_TRUE(was_recording(12.5, 13.1));
  SpanEnds(At(20));
}

// A busy machine reads its buffers late, and the recording has ended meanwhile.
TEST(SpansTest, HoweverLongAgo) {
  SpanBegins(At(1000));
  SpanEnds(At(1005));
  for (const Filled& filled :
       {Filled{At(1000.5), At(1004)}, Filled{At(1004), At(1060)}, Filled{At(1050), At(1060)}}) {
    EXPECT_TRUE(WasRecording(At(1001).wall_ns, At(1001.1).wall_ns, filled));
  }
  EXPECT_FALSE(WasRecording(At(1005.5).wall_ns, At(1005.6).wall_ns, {At(1004), At(1060)}));
}

TEST(SpansTest, ClocksThatStep) {
  for (const double stepped : {-3600, 3600}) {
    const auto day = stepped < 0 ? 86'400 : 2 * 86'400;
    SpanBegins(At(day));
    // The node's own clock, after five seconds of ten.
    const Filled before = {At(day + 4), At(day + 5)};
    const Filled across = {At(day + 4), At(day + 6, stepped)};
    const Filled after = {At(day + 6, stepped), At(day + 9, stepped)};
    const auto look = [&] {
      EXPECT_TRUE(WasRecording(At(day + 4.1).wall_ns, At(day + 4.2).wall_ns, before));
      EXPECT_TRUE(WasRecording(At(day + 4.1).wall_ns, At(day + 4.2).wall_ns, across));
      EXPECT_TRUE(WasRecording(At(day + 5.1, stepped).wall_ns, At(day + 5.2, stepped).wall_ns, across));
      EXPECT_TRUE(WasRecording(At(day + 6.1, stepped).wall_ns, At(day + 6.2, stepped).wall_ns, after));
      // The vendor's alone.
      EXPECT_TRUE(WasRecording(1, 2, after));
    };
    look();
    SpanEnds(At(day + 10, stepped));
    look();
    EXPECT_FALSE(WasRecording(1, 2, {At(day + 11, stepped), At(day + 12, stepped)}));
    EXPECT_FALSE(WasRecording(At(day + 11, stepped).wall_ns, At(day + 12, stepped).wall_ns,
                              {after.from, At(day + 12, stepped)}));
  }
}

}  // namespace
}  // namespace profd::agent
