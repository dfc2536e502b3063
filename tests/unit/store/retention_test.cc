#include "daemon/store/spool/retention.h"

#include <gtest/gtest.h>

namespace profd::store {
namespace {

constexpr uint64_t kSecond = 1'000'000'000;
constexpr uint64_t kNow = 1'000'000 * kSecond;

Kept Of(uid_t uid, uint64_t age_s) {
  Kept kept;
  kept.uid = uid;
  kept.user = "user" + std::to_string(uid);
  kept.name = "PROF_" + std::to_string(age_s);
  kept.disk_bytes = 100;
  kept.end_wall_ns = kNow - age_s * kSecond;
  kept.age_ns = age_s * kSecond;
  kept.seen_raw_ns = 5000;
  return kept;
}
Pressure Now() {
  Pressure pressure;
  pressure.raw_ns = 5000;
  return pressure;
}
std::string Next(const std::vector<Kept>& kept, const Pressure& pressure) {
  const auto next = ChooseNextToGo(kept, pressure);
  return next ? kept[next->index].name : "";
}

TEST(Retention, NothingGoesWithoutNeed) {
  EXPECT_EQ(Next({Of(1, 10), Of(2, 1'000'000 - 1)}, Now()), "");
  EXPECT_EQ(Next({}, Now()), "");
}

TEST(Retention, TheOldestOfAllGoesForTheSpool) {
  Pressure pressure = Now();
  pressure.excess = 1;
  EXPECT_EQ(Next({Of(1, 10), Of(2, 30), Of(1, 20)}, pressure), "PROF_30");
}

TEST(Retention, OnlyHisOwnGoForTheQuotaOfAUser) {
  Pressure pressure = Now();
  pressure.excess_by_uid = {{1, 1}, {2, 0}};
  EXPECT_EQ(Next({Of(1, 10), Of(2, 30), Of(1, 20)}, pressure), "PROF_20");
  EXPECT_EQ(Next({Of(2, 30)}, pressure), "");
}

TEST(Retention, WhatIsPinnedOrWasInUseAMomentAgoStays) {
  Pressure pressure = Now();
  pressure.excess = 1;
  std::vector<Kept> kept = {Of(1, 10), Of(1, 30), Of(1, 20)};
  kept[1].pinned = true;
  kept[2].not_before_ns = pressure.raw_ns + 1;
  EXPECT_EQ(Next(kept, pressure), "PROF_10");
  kept[2].not_before_ns = pressure.raw_ns;
  EXPECT_EQ(Next(kept, pressure), "PROF_20");
}

TEST(Retention, WhatARunningSessionLeftBehindGoesLast) {
  Pressure pressure = Now();
  pressure.excess = 1;
  std::vector<Kept> kept = {Of(1, 30), Of(1, 10)};
  kept[0].of_running = true;
  EXPECT_EQ(Next(kept, pressure), "PROF_10");
  kept.pop_back();
  EXPECT_EQ(Next(kept, pressure), "PROF_30");
}

TEST(Retention, AgeSparesThePinnedAndTheRunning) {
  Pressure pressure = Now();
  pressure.max_age_ns = 15 * kSecond;
  std::vector<Kept> kept = {Of(1, 15), Of(1, 16), Of(1, 17), Of(1, 18)};
  kept[2].of_running = true;
  kept[3].pinned = true;
  EXPECT_EQ(Next(kept, pressure), "PROF_16");
}

// Whatever becomes of the wall clock.
TEST(Retention, AgeGrowsWithTheRawClock) {
  Pressure pressure = Now();
  pressure.max_age_ns = 15 * kSecond;
  EXPECT_EQ(Next({Of(1, 10)}, pressure), "");
  pressure.raw_ns += 5 * kSecond;
  EXPECT_EQ(Next({Of(1, 10)}, pressure), "");
  pressure.raw_ns += 1;
  EXPECT_EQ(Next({Of(1, 10)}, pressure), "PROF_10");
}

TEST(Retention, ForTheRoomOfAllGoesTheOldestOfWhoHasMost) {
  Pressure pressure = Now();
  pressure.excess = 1;
  pressure.holdings = {{1, {500, 0}}, {2, {100, 0}}};
  EXPECT_EQ(Next({Of(1, 10), Of(2, 30), Of(1, 20)}, pressure), "PROF_20");
  pressure.holdings[2].all = 501;
  EXPECT_EQ(Next({Of(1, 10), Of(2, 30), Of(1, 20)}, pressure), "PROF_30");
}

// User 1 fills the disk with what is not profd's.
TEST(Retention, NothingOfOthersGoesWhileOneHoldsMoreThanAFairShare) {
  Pressure pressure = Now();
  pressure.excess = 1;
  pressure.fair = 300;
  pressure.holdings = {{1, {500, 301}}, {2, {600, 0}}};
  EXPECT_EQ(HoldsTooMuch(pressure), 1U);
  EXPECT_EQ(Next({Of(1, 10), Of(2, 30)}, pressure), "PROF_10");
  EXPECT_EQ(Next({Of(2, 30)}, pressure), "");
  pressure.excess_by_uid = {{2, 1}};  // her own quota is hers
  EXPECT_EQ(Next({Of(2, 30)}, pressure), "PROF_30");
  pressure.excess_by_uid.clear();
  pressure.holdings[1].fixed = 300;
  EXPECT_EQ(HoldsTooMuch(pressure), std::nullopt);
  EXPECT_EQ(Next({Of(2, 30)}, pressure), "PROF_30");
}

TEST(Retention, OfSeveralWhoHoldTooMuchItIsTheOneWithMost) {
  Pressure pressure = Now();
  pressure.fair = 100;
  pressure.holdings = {{1, {500, 200}}, {2, {400, 400}}, {3, {900, 0}}};
  EXPECT_EQ(HoldsTooMuch(pressure), 2U);
}

}  // namespace
}  // namespace profd::store
