#include "daemon/store/spool/budget.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <string>

namespace profd::store {
namespace {

using base::Code;
using base::Status;

constexpr uint64_t kLimit = 100'000'000;
constexpr uint64_t kSliceBytes = 1'000'000;
constexpr uint64_t kMs = 1'000'000;
constexpr uint64_t kSecond = 1000 * kMs;

// A directory without a disk: remembers what was aged, in order.
class Keeper : public SliceKeeper {
 public:
  explicit Keeper(Budget& budget) : budget_(budget) { budget_.Join(this); }
  ~Keeper() override { budget_.Leave(this); }

  Status Age(const ClosedSlice& slice) override {
    if (!refusal.ok()) return refusal;
    aged.push_back(slice);
    return {};
  }
  uint64_t OldestNewest() const override { return newest.empty() ? UINT64_MAX : newest.front().first_ns; }
  void OfferOldestNewest() override {
    budget_.Offer(this, newest.front());
    newest.erase(newest.begin());
  }

  ClosedSlice Slice(uint32_t file, uint64_t number, uint64_t first_ns, uint64_t last_ns,
                    uint64_t bytes = kSliceBytes) {
    budget_.Change(0, bytes);
    budget_.NoteStored(first_ns, last_ns);
    return {.file = file,
            .number = number,
            .disk_bytes = bytes,
            .first_ns = first_ns,
            .last_ns = last_ns,
            .parts = {{.stream = file, .records = 10, .bytes = bytes - 1}}};
  }

  Status refusal;
  std::vector<ClosedSlice> aged;
  std::vector<ClosedSlice> newest;

 private:
  Budget& budget_;
};

TEST(Budget, WithoutALimitItOnlyCounts) {
  Budget budget;
  budget.Change(0, 1ull << 50);
  EXPECT_TRUE(budget.MakeRoom(1ull << 50).ok());
  EXPECT_EQ(budget.SliceBytes(2 << 20), 2U << 20);
  EXPECT_EQ(budget.SliceNs(), UINT64_MAX);
  budget.Change(1ull << 50, 7);
  EXPECT_EQ(budget.used_bytes(), 7U);
}

TEST(Budget, TheNewestSlicesOfAllStreamsAreAQuarterAtMost) {
  Budget budget(kLimit);
  EXPECT_EQ(budget.SliceBytes(2 << 20), 2U << 20);
  budget.ChangeStreams(50);
  EXPECT_EQ(budget.SliceBytes(2 << 20), kLimit / 200);
  budget.ChangeStreams(10'000);
  EXPECT_EQ(budget.SliceBytes(2 << 20), 64U << 10);
  budget.ChangeStreams(-10'050);
  EXPECT_EQ(budget.SliceBytes(2 << 20), 2U << 20);
}

TEST(Budget, SlicesAreCutEightTimesInTheWindowThatFits) {
  Budget budget(kLimit);
  EXPECT_EQ(budget.SliceNs(), 50 * kMs);  // nothing is known yet
  budget.Change(0, kLimit / 10);
  budget.NoteStored(5000 * kMs, 6000 * kMs);  // a tenth in a second
  EXPECT_NEAR(static_cast<double>(budget.SliceNs()), 10e9 / 8, 1e6);
}

TEST(Budget, TheOldestByTimeGoesWhateverItsStream) {
  Budget budget(kLimit);
  Keeper one(budget);
  Keeper two(budget);
  budget.Offer(&one, one.Slice(0, 0, 0, 30 * kSecond));
  budget.Offer(&one, one.Slice(1, 0, 10 * kSecond, 20 * kSecond));
  budget.Offer(&two, two.Slice(0, 0, 0, 10 * kSecond));
  budget.Offer(&two, two.Slice(0, 1, 10 * kSecond, 25 * kSecond));
  EXPECT_TRUE(budget.MakeRoom(kLimit - 4 * kSliceBytes - (2 << 20)).ok());
  EXPECT_TRUE(one.aged.empty());
  EXPECT_TRUE(two.aged.empty());
  EXPECT_TRUE(budget.MakeRoom(kLimit - kSliceBytes - (2 << 20)).ok());
  ASSERT_EQ(two.aged.size(), 2U);
  ASSERT_EQ(one.aged.size(), 1U);
  EXPECT_EQ(one.aged[0].file, 1U);
  EXPECT_EQ(budget.used_bytes(), kSliceBytes);
  EXPECT_EQ(budget.aged_bytes(), 3 * (kSliceBytes - 1));
  EXPECT_EQ(budget.aged_records(), 30U);
  EXPECT_EQ(budget.window_ns(), 5 * kSecond);  // 25 … 30
}

// A chunk that came late must not make a hole between older and newer slices of its stream.
TEST(Budget, SlicesOfAFileGoInTheirOrder) {
  Budget budget(kLimit);
  Keeper keeper(budget);
  budget.Offer(&keeper, keeper.Slice(0, 0, 0, 50 * kMs));
  budget.Offer(&keeper, keeper.Slice(0, 1, 0, 10 * kMs));
  budget.Offer(&keeper, keeper.Slice(1, 0, 0, 40 * kMs));
  EXPECT_TRUE(budget.MakeRoom(kLimit - (2 << 20)).ok());
  ASSERT_EQ(keeper.aged.size(), 3U);
  EXPECT_EQ(keeper.aged[0].file, 1U);
  EXPECT_EQ(keeper.aged[1].number, 0U);
  EXPECT_EQ(keeper.aged[2].number, 1U);
}

TEST(Budget, TheNewestSlicesGoOnlyWhenNothingElseIsLeft) {
  Budget budget(kLimit);
  Keeper one(budget);
  Keeper two(budget);
  one.newest = {one.Slice(0, 0, 20 * kSecond, 30 * kSecond)};
  two.newest = {two.Slice(0, 0, 10 * kSecond, 40 * kSecond)};
  budget.Offer(&one, one.Slice(1, 0, 30 * kSecond, 50 * kSecond));
  EXPECT_TRUE(budget.MakeRoom(kLimit - 2 * kSliceBytes - (2 << 20)).ok());
  EXPECT_EQ(one.aged.size(), 1U);
  EXPECT_TRUE(two.aged.empty());
  EXPECT_TRUE(budget.MakeRoom(kLimit - kSliceBytes - (2 << 20)).ok());
  EXPECT_EQ(one.aged.size(), 1U);
  EXPECT_EQ(two.aged.size(), 1U);
}

TEST(Budget, WhatCannotBeAgedIsNoRoom) {
  Budget budget(kLimit);
  Keeper keeper(budget);
  budget.Offer(&keeper, keeper.Slice(0, 0, 0, 10 * kMs));
  keeper.refusal = {Code::kPermissionDenied, "f.slice_0: remove: Read-only file system"};
  EXPECT_TRUE(budget.MakeRoom(kLimit - kSliceBytes).ok());  // into the reserve
  const Status refused = budget.MakeRoom(kLimit - kSliceBytes + 1);
  EXPECT_EQ(refused.code(), Code::kPermissionDenied);
  EXPECT_NE(refused.message().find("f.slice_0: remove: Read-only"), std::string::npos);
  EXPECT_EQ(budget.used_bytes(), kSliceBytes);
  EXPECT_EQ(budget.aged_records(), 0U);
  keeper.refusal = {};
  EXPECT_TRUE(budget.MakeRoom(kLimit - kSliceBytes + 1).ok());
  EXPECT_EQ(keeper.aged.size(), 1U);
  EXPECT_EQ(budget.MakeRoom(kLimit + 1).code(), Code::kResourceExhausted);
}

TEST(Budget, ADirectoryThatIsClosedIsNotAskedAgain) {
  Budget budget(kLimit);
  {
    Keeper gone(budget);
    budget.Offer(&gone, gone.Slice(0, 0, 0, 10 * kMs));
    gone.newest = {gone.Slice(1, 0, 0, 10 * kMs)};
  }
  EXPECT_EQ(budget.used_bytes(), 2 * kSliceBytes);  // its files are still there
  EXPECT_EQ(budget.MakeRoom(kLimit).code(), Code::kResourceExhausted);
}

TEST(Budget, OneAppendRemovesAFewSlicesAsLongAsItFits) {
  Budget budget(kLimit);
  Keeper keeper(budget);
  for (uint64_t i = 0; i < 20'000; ++i) {
    budget.Offer(&keeper, keeper.Slice(0, i, i * kMs, (i + 1) * kMs, 5000));
  }
  EXPECT_EQ(budget.used_bytes(), kLimit);
  budget.Change(5000, 0);
  EXPECT_TRUE(budget.MakeRoom(5000).ok());
  EXPECT_EQ(keeper.aged.size(), 32U);
  EXPECT_TRUE(budget.MakeRoom(1'000'000).ok());  // must go whatever it takes
  EXPECT_LE(budget.used_bytes() + 1'000'000, kLimit);
}

// Whatever comes: never over the limit, and every stream keeps the newest of what it had.
TEST(Budget, FastStreamsLeaveRoomForWhatComesWhileSomebodyLooks) {
  const auto most_used = [](uint64_t slice_ns) {
    Budget budget(kLimit);
    Keeper keeper(budget);
    uint64_t most = 0;
    for (uint64_t number = 0; number < 300; ++number) {
      EXPECT_TRUE(budget.MakeRoom(kSliceBytes).ok());
      budget.Offer(&keeper, keeper.Slice(0, number, number * slice_ns, (number + 1) * slice_ns));
      most = std::max(most, budget.used_bytes());
    }
    return most;
  };
  EXPECT_LE(most_used(1 * kMs), kLimit - kLimit / 16);  // as fast as a disk can be
  EXPECT_LE(most_used(25 * kMs), kLimit - 4 * kSliceBytes);
  EXPECT_GT(most_used(1000 * kMs), kLimit - 4 * kSliceBytes);
}

TEST(Budget, RandomStreamsStayWithinTheLimit) {
  std::mt19937 random(7);
  Budget budget(kLimit);
  Keeper keeper(budget);
  uint64_t now = 0;
  std::vector<uint64_t> numbers(40, 0);
  for (int i = 0; i < 20'000; ++i) {
    const auto file = static_cast<uint32_t>(random() % numbers.size());
    const uint64_t bytes = 4096 * (1 + random() % (file + 1) * 8);
    ASSERT_TRUE(budget.MakeRoom(bytes).ok());
    budget.Offer(&keeper, keeper.Slice(file, numbers[file]++, now, now + kMs, bytes));
    ASSERT_LE(budget.used_bytes(), kLimit);
    now += kMs;
  }
  std::vector<uint64_t> next(numbers.size(), 0);
  uint64_t before = 0;
  for (const ClosedSlice& slice : keeper.aged) {
    EXPECT_EQ(slice.number, next[slice.file]++);
    EXPECT_GE(slice.last_ns, before);
    before = slice.last_ns;
  }
  EXPECT_GT(keeper.aged.size(), 1000U);
}

}  // namespace
}  // namespace profd::store
