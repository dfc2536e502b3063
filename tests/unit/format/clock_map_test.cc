#include "format/clock_map.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace profd::format {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kRaw = 5'000 * kSecond;
constexpr uint64_t kWall = 1'700'000'000 * kSecond;
constexpr uint64_t kDevice = 3'000 * kSecond;
constexpr uint64_t kTicks = 145'000'000'000;

// A node whose device clock runs `ppm` fast, read `after_ns` after the start.
ClockPair PairAt(uint64_t after_ns, double ppm, uint64_t error_ns = 100) {
  const auto device_after =
      static_cast<uint64_t>(std::llround(static_cast<double>(after_ns) * (1 + ppm * 1e-6)));
  ClockPair pair;
  pair.host_raw_ns = kRaw + after_ns;
  pair.host_counter = 2 * after_ns;  // 2 GHz
  pair.wall_ns = kWall + after_ns;
  pair.device_raw_ns = kDevice + device_after;
  pair.device_counter = kTicks + device_after / 20;  // 50 MHz
  pair.error_ns = error_ns;
  return pair;
}

TEST(ClockMap, WithoutPairsKnowsNothing) {
  const ClockMap map(50, 2000);
  EXPECT_EQ(map.DeviceNsToWall(1).ns, 0u);
  EXPECT_EQ(map.DeviceNsToWall(1).error_ns, std::numeric_limits<uint64_t>::max());
}

TEST(ClockMap, OnePairUsesNominalRates) {
  ClockMap map(50, 2000);
  map.Add(PairAt(0, 0));
  EXPECT_EQ(map.HostRawToWall(kRaw + kSecond).ns, kWall + kSecond);
  EXPECT_EQ(map.DeviceNsToWall(kDevice + kSecond).ns, kWall + kSecond);
  EXPECT_EQ(map.DeviceTicksToWall(kTicks + 50'000'000).ns, kWall + kSecond);
  EXPECT_EQ(map.HostCounterToWall(2 * kSecond).ns, kWall + kSecond);
  // Also before the pair: data can be older than the reading.
  EXPECT_EQ(map.DeviceNsToWall(kDevice - kSecond).ns, kWall - kSecond);
}

TEST(ClockMap, UnknownHostFrequencyMeansNanoseconds) {
  ClockMap map(50, 0);
  ClockPair pair = PairAt(0, 0);
  pair.host_counter = pair.host_raw_ns;
  map.Add(pair);
  EXPECT_EQ(map.HostCounterToRaw(kRaw + 123).ns, kRaw + 123);
}

TEST(ClockMap, FollowsDriftBetweenPairs) {
  constexpr double kPpm = 80;
  ClockMap map(50, 2000);
  map.Add(PairAt(60 * kSecond, kPpm));
  map.Add(PairAt(0, kPpm));  // order does not matter
  map.Add(PairAt(30 * kSecond, kPpm));
  ASSERT_EQ(map.pair_count(), 3u);
  for (const uint64_t after : {1ul, 15ul, 30ul, 45ul, 59ul, 75ul}) {
    const ClockPair truth = PairAt(after * kSecond, kPpm);
    EXPECT_NEAR(static_cast<double>(map.DeviceNsToWall(truth.device_raw_ns).ns - kWall),
                static_cast<double>(after * kSecond), 2)
        << after;
    EXPECT_NEAR(static_cast<double>(map.DeviceTicksToWall(truth.device_counter).ns - kWall),
                static_cast<double>(after * kSecond), 45)  // two ticks of 20 ns
        << after;
  }
}

TEST(ClockMap, FollowsEverySegmentOfAChangingDrift) {
  ClockMap map(50, 2000);
  ClockPair first = PairAt(0, 0);
  ClockPair second = PairAt(10 * kSecond, 0);
  ClockPair third = PairAt(20 * kSecond, 0);
  second.device_raw_ns += 1'000'000;  // 100 ppm fast, then 100 ppm slow
  for (const ClockPair& pair : {first, second, third}) map.Add(pair);
  EXPECT_EQ(map.DeviceNsToHostRaw(kDevice + 5 * kSecond + 500'000).ns, kRaw + 5 * kSecond);
  EXPECT_EQ(map.DeviceNsToHostRaw(kDevice + 15 * kSecond + 500'000).ns, kRaw + 15 * kSecond);
}

TEST(ClockMap, ErrorHoldsTheTruthAndGrowsOutside) {
  ClockMap map(50, 2000);
  ClockPair first = PairAt(0, 40, 1'000);
  ClockPair second = PairAt(30 * kSecond, 40, 1'000);
  first.device_raw_ns += 900;  // misread within the bracket
  second.device_raw_ns -= 900;
  map.Add(first);
  map.Add(second);
  uint64_t last_error = 0;
  for (const uint64_t after : {10ul, 40ul, 100ul, 1000ul}) {
    const ClockPair truth = PairAt(after * kSecond, 40);
    const ClockReading reading = map.DeviceNsToHostRaw(truth.device_raw_ns);
    const auto off = static_cast<double>(reading.ns) - static_cast<double>(truth.host_raw_ns);
    EXPECT_LE(std::abs(off), static_cast<double>(reading.error_ns) + 2) << after;
    EXPECT_GT(reading.error_ns, last_error) << after;
    last_error = reading.error_ns;
  }
  const ClockReading before = map.DeviceNsToHostRaw(kDevice - 100 * kSecond);
  EXPECT_GT(before.error_ns, map.DeviceNsToHostRaw(kDevice + kSecond).error_ns);
}

TEST(ClockMap, SetWallClockIsNotSmearedOverTheSegment) {
  ClockMap map(50, 2000);
  map.Add(PairAt(0, 0));
  ClockPair after_step = PairAt(30 * kSecond, 0);
  after_step.wall_ns += 3'600 * kSecond;
  map.Add(after_step);
  EXPECT_EQ(map.HostRawToWall(kRaw + 29 * kSecond).ns, kWall + 29 * kSecond);
  EXPECT_EQ(map.HostRawToWall(kRaw + 31 * kSecond).ns, kWall + 3'631 * kSecond);
}

TEST(ClockMap, ResetDeviceClockDoesNotBreakTheMap) {
  ClockMap map(50, 2000);
  map.Add(PairAt(0, 0));
  ClockPair after_reset = PairAt(30 * kSecond, 0);
  after_reset.device_raw_ns = 7;
  map.Add(after_reset);
  EXPECT_GT(map.DeviceNsToHostRaw(7 + kSecond).error_ns, 0u);
}

TEST(ClockMap, SamePairTwiceReplaces) {
  ClockMap map(50, 2000);
  map.Add(PairAt(0, 0));
  ClockPair better = PairAt(0, 0);
  better.device_raw_ns += 50;
  map.Add(better);
  EXPECT_EQ(map.pair_count(), 1u);
  EXPECT_EQ(map.DeviceNsToHostRaw(kDevice + 50).ns, kRaw);
}

TEST(ClockMap, RememberedLinesSayTheSame) {
  ClockMap map(50, 100);
  ClockMemo memos[kClocks];
  for (uint64_t i = 0; i < 5; ++i) {
    map.Add({5'000'000'000 + i * 1'000'003, 500'000 + i * 100'007, 1'700'000'000'000'000'000 + i * 1'000'011,
             3'000'000'000 + i * 999'983, 150'000'000 + i * 50'001, 40});
  }
  for (uint64_t step = 0; step < 4000; ++step) {  // to and fro over all lines, and beyond
    const uint64_t off = step * 7919 % 8'000'000;
    const auto wall = [&](Clock clock, uint64_t stamp) {
      return map.ToWall(clock, stamp, memos[static_cast<size_t>(clock)]);
    };
    const uint64_t raw = 4'998'000'000 + off, device = 2'998'000'000 + off;
    EXPECT_EQ(wall(Clock::kHostRaw, raw), map.HostRawToWall(raw).ns);
    EXPECT_EQ(wall(Clock::kDeviceNs, device), map.DeviceNsToWall(device).ns);
    EXPECT_EQ(wall(Clock::kHostCounter, 400'000 + off / 10), map.HostCounterToWall(400'000 + off / 10).ns);
    EXPECT_EQ(wall(Clock::kDeviceTicks, 149'900'000 + off / 20),
              map.DeviceTicksToWall(149'900'000 + off / 20).ns);
  }
}

TEST(ClockMap, AnyStampHasAnAnswer) {
  ClockMap map(0.001, 2000);
  map.Add(PairAt(0, 0));
  constexpr uint64_t kMost = std::numeric_limits<uint64_t>::max();
  EXPECT_EQ(map.DeviceTicksToHostRaw(0).ns, 0u);
  EXPECT_EQ(map.DeviceTicksToHostRaw(kMost).ns, kRaw + 18'000'000'000 * kSecond);
  EXPECT_GT(map.DeviceTicksToWall(kMost).error_ns, 0u);
}

}  // namespace
}  // namespace profd::format
