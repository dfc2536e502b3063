#include "daemon/summary/step_follower.h"

#include <gtest/gtest.h>

#include <vector>

namespace profd::summary {
namespace {

constexpr uint64_t kSecond = 1'000'000'000, kWall = 1'700'000'000 * kSecond;

// A loop as its region shows it, 1000 s after the boot and on.
class StepFollowerTest : public testing::Test {
 protected:
  void Ends(uint64_t ended, double begin_s, double took_s) {
    log_.ended.push_back({ended, 100 + ended, Raw(begin_s), static_cast<uint64_t>(took_s * 1e9)});
    log_.begin_ns = 0;
  }
  void Runs(uint64_t step, double begin_s) {
    log_.begin_ns = Raw(begin_s);
    log_.step = step;
  }
  StepFollower::Look At(double s) { return follower_.Take(log_, Raw(s), Wall(s), numbers_); }
  static uint64_t Raw(double s) { return static_cast<uint64_t>((1000 + s) * 1e9); }
  static uint64_t Wall(double s) { return kWall + static_cast<uint64_t>(s * 1e9); }

  agent::StepLog log_;
  StepFollower follower_;
  Numbers numbers_;
};

TEST_F(StepFollowerTest, EachStepHasOneRow) {
  Ends(1, 0, 0.5);
  Ends(2, 0.5, 0.25);
  auto look = At(1);
  ASSERT_EQ(look.rows.size(), 2U);
  EXPECT_EQ(look.rows[0].step, 101U);
  EXPECT_EQ(look.rows[0].wall_ns, Wall(0));
  EXPECT_EQ(look.rows[0].took_ns, kSecond / 2);
  EXPECT_EQ(look.rows[1].number, 1U);
  EXPECT_FALSE(look.rows[1].open);
  EXPECT_EQ(look.lost, 0U);
  EXPECT_TRUE(At(2).rows.empty());
}

TEST_F(StepFollowerTest, WhatIsMissingIsCounted) {
  log_.ended_before = 40;
  Ends(44, 0, 0.1);  // 41 to 43 were not logged
  EXPECT_EQ(At(1).lost, 3U);
  log_.ended.clear();
  Ends(50, 1, 0.1);  // 45 to 49 were overwritten
  const auto look = At(2);
  EXPECT_EQ(look.lost, 5U);
  EXPECT_EQ(look.rows.size(), 1U);
}

TEST_F(StepFollowerTest, AStepThatHangsHasARowBeforeItEnds) {
  Runs(7, 0);
  EXPECT_TRUE(At(1).rows.empty());
  auto look = At(11);
  ASSERT_EQ(look.rows.size(), 1U);
  EXPECT_TRUE(look.rows[0].open);
  EXPECT_EQ(look.rows[0].step, 7U);
  EXPECT_EQ(look.rows[0].wall_ns, Wall(0));
  EXPECT_EQ(look.rows[0].took_ns, 11 * kSecond);
  EXPECT_TRUE(At(12).rows.empty());
  // The one that closes it takes its place.
  log_.ended.push_back({1, 7, Raw(0), 20 * kSecond});
  Runs(8, 20.5);
  look = At(21);
  ASSERT_EQ(look.rows.size(), 1U);
  EXPECT_FALSE(look.rows[0].open);
  EXPECT_EQ(look.rows[0].number, 0U);
  EXPECT_EQ(look.rows[0].took_ns, 20 * kSecond);
  // And its end, with that of the program.
  look = follower_.End(Raw(22), Wall(22), numbers_);
  ASSERT_EQ(look.rows.size(), 1U);
  EXPECT_TRUE(look.rows[0].open);
  EXPECT_EQ(look.rows[0].step, 8U);
  EXPECT_EQ(look.rows[0].number, 1U);
}

TEST_F(StepFollowerTest, AClockThatIsNotOursGivesTheTimeOfTheLook) {
  log_.ended.push_back({1, 1, Raw(-900), kSecond});
  const auto look = At(5);
  ASSERT_EQ(look.rows.size(), 1U);
  EXPECT_EQ(look.rows[0].wall_ns, Wall(4));
  Runs(2, 5000);
  At(5);
  const auto later = At(16);
  ASSERT_EQ(later.rows.size(), 1U);
  EXPECT_EQ(later.rows[0].took_ns, 11 * kSecond);
}

TEST_F(StepFollowerTest, ALieIsNoCount) {
  log_.ended.push_back({UINT64_MAX, 1, UINT64_MAX, UINT64_MAX});
  const auto look = At(1);
  EXPECT_TRUE(look.rows.empty());
  EXPECT_EQ(look.lost, 1U);
  // It has no more to say after that.
  log_.ended = {{5, 1, Raw(1), 1}};
  EXPECT_TRUE(At(2).rows.empty());
}

}  // namespace
}  // namespace profd::summary
