// Reading the vendor's buffers, and which of their records belong to a recording.
#include <gtest/gtest.h>

#include <cstring>
#include <ctime>
#include <random>
#include <vector>

#include "libagent/src/mspti/activity.h"
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

uint64_t WallNs() {
  timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

TEST(SpansTest, WhatHappenedWhileARecordingRan) {
  const uint64_t before = WallNs();
  SpanBegins();
  const uint64_t during = WallNs();
  EXPECT_FALSE(WasRecording(before - 1000, before - 500));
  EXPECT_TRUE(WasRecording(before - 1000, during));
  EXPECT_TRUE(WasRecording(during, during + 1000));
  SpanEnds();
  SpanEnds();
  const uint64_t between = WallNs() + 1;
  while (WallNs() < between + 1000) {
  }
  SpanBegins();
  EXPECT_TRUE(WasRecording(during, during));
  EXPECT_FALSE(WasRecording(between, between));
  EXPECT_TRUE(WasRecording(before, WallNs()));
  // Clocks that disagree: what comes now counts.
  EXPECT_TRUE(WasRecording(1, 2));
  SpanEnds();
  EXPECT_FALSE(WasRecording(1, 2));
}

}  // namespace
}  // namespace profd::agent
