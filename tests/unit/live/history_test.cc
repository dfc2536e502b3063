#include "daemon/live/history.h"

#include <gtest/gtest.h>

#include "daemon/live/values/metrics.h"

namespace profd::live {

namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr size_t kRoom = size_t{1} << 20;

Snapshot At(uint64_t second, size_t values = 3) {
  Snapshot snapshot;
  snapshot.number = second;
  snapshot.wall_ns = second * kSecondNs;
  snapshot.period_ns = kSecondNs;
  for (size_t i = 0; i < values; ++i) {
    snapshot.samples.push_back(
        {&kDeviceHeld, {{"device", std::to_string(i)}}, static_cast<double>(second * 10 + i)});
    snapshot.samples.back().wall_ns = snapshot.wall_ns - i;
  }
  return snapshot;
}

std::vector<uint64_t> Numbers(const History& history, uint64_t since_ns = 0) {
  std::vector<uint64_t> numbers;
  for (const History::Later& later : history.Since(since_ns)) numbers.push_back(later.lock()->number);
  return numbers;
}

TEST(History, GivesSetsBackAsTheyWere) {
  History history(30 * kSecondNs, kRoom);
  for (const uint64_t second : {100, 101}) history.Add(At(second));
  history.Add(At(102, 4));  // a device more
  const std::vector<History::Later> sets = history.Since(101 * kSecondNs);
  ASSERT_EQ(sets.size(), 2U);
  for (const auto& [later, second, values] : {std::tuple{sets[0], 101U, 3U}, std::tuple{sets[1], 102U, 4U}}) {
    const SnapshotPtr whole = History::Whole(*later.lock());
    const Snapshot expected = At(second, values);
    EXPECT_EQ(whole->number, expected.number);
    EXPECT_EQ(whole->wall_ns, expected.wall_ns);
    ASSERT_EQ(whole->samples.size(), values);
    for (size_t i = 0; i < values; ++i) {
      EXPECT_TRUE(whole->samples[i].IsSame(expected.samples[i]));
      EXPECT_EQ(whole->samples[i].value, expected.samples[i].value);
      EXPECT_EQ(whole->samples[i].wall_ns, expected.samples[i].wall_ns);
    }
  }
}

TEST(History, LetsGoOfWhatIsTooOld) {
  History history(2 * kSecondNs, kRoom);
  for (uint64_t second = 100; second < 110; ++second) history.Add(At(second));
  EXPECT_EQ(Numbers(history), (std::vector<uint64_t>{107, 108, 109}));
  const std::vector<History::Later> held = history.Since(0);
  history.Add(At(200));
  EXPECT_EQ(Numbers(history), std::vector<uint64_t>{200});
  for (const History::Later& later : held) EXPECT_TRUE(later.expired());
}

TEST(History, StaysWithinItsRoom) {
  History history(3600 * kSecondNs, kRoom / 8);
  for (uint64_t second = 1; second < 2000; ++second) {
    history.Add(At(second, 100 + second / 7 % 2));  // other values every few seconds
    ASSERT_LE(history.bytes(), kRoom / 8);
  }
  EXPECT_GT(Numbers(history).size(), 10U);
  EXPECT_EQ(Numbers(history).back(), 1999U);
  // As many as fit: the names of those alike are kept once.
  History alike(3600 * kSecondNs, kRoom / 8);
  for (uint64_t second = 1; second < 2000; ++second) alike.Add(At(second, 100));
  EXPECT_GT(Numbers(alike).size(), 60U);
  alike.Clear();
  EXPECT_EQ(alike.bytes(), 0U);
}

TEST(History, OfNoRoomKeepsNothing) {
  for (History history : {History(0, kRoom), History(kSecondNs, 100)}) {
    history.Add(At(1));
    EXPECT_EQ(history.bytes(), 0U);
    EXPECT_TRUE(Numbers(history).empty());
  }
}

TEST(History, OthersOwnersAreOtherValues) {
  History history(30 * kSecondNs, kRoom);
  Snapshot first = At(1), second = At(2);
  second.samples[0].target.owner = 1000;
  history.Add(first);
  history.Add(second);
  const auto sets = history.Since(0);
  EXPECT_EQ(History::Whole(*sets[0].lock())->samples[0].target.owner, first.samples[0].target.owner);
  EXPECT_EQ(History::Whole(*sets[1].lock())->samples[0].target.owner, 1000U);
}

}  // namespace

}  // namespace profd::live
