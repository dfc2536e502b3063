#include "daemon/live/job_book.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/live/values/metrics.h"

namespace profd::live {
namespace {

constexpr uint64_t kSecond = 1'000'000'000, kWall = 1'800'000'000 * kSecond;

JobFacts Facts(pid_t pid, uint64_t begin_s, std::vector<uint32_t> devices, uid_t uid = 7) {
  return {pid, kWall + begin_s * kSecond, uid, "", "", {}, std::move(devices)};
}
Sample Watts(uint32_t device, double watts) {
  return {&kPower,
          {{"device", std::to_string(device)}, {"chip", "910B3"}},
          watts,
          auth::Action::kSeeDevice,
          {.device = device}};
}
Sample Steps(pid_t pid, double steps) {
  return {&kProcessSteps,
          {{"pid", std::to_string(pid)}, {"name", "python"}, {"job", "llm"}},
          steps,
          auth::Action::kSeeProcess,
          {.owner = 7}};
}

class JobBookTest : public testing::Test {
 protected:
  void At(uint64_t second, std::vector<Sample> samples, const std::vector<JobFacts>& running) {
    Snapshot snapshot;
    snapshot.wall_ns = kWall + second * kSecond;
    snapshot.samples = std::move(samples);
    book_.Add(snapshot, running, 1000 * kSecond + second * kSecond);
  }
  const Job& The(pid_t pid) const {
    for (const Job* const job : book_.All()) {
      if (job->facts.pid == pid) return *job;
    }
    ADD_FAILURE() << "no job " << pid;
    static const Job none;
    return none;
  }
  JobBook book_;
};

TEST_F(JobBookTest, EnergyIsPowerOverTime) {
  const std::vector<JobFacts> running = {Facts(5, 0, {1})};
  At(0, {Watts(0, 50), Watts(1, 100)}, running);
  At(2, {Watts(0, 50), Watts(1, 300)}, running);
  At(3, {Watts(0, 50), Watts(1, 60)}, running);
  const Job& job = The(5);
  ASSERT_EQ(job.values.size(), 1U) << "device 0 is not its own";
  const JobValue& power = job.values[0];
  EXPECT_EQ(power.labels, (std::vector<Label>{{"device", "1"}}));
  EXPECT_DOUBLE_EQ(power.sum, 2 * 300 + 1 * 60);
  EXPECT_DOUBLE_EQ(power.Mean(), 220);
  EXPECT_EQ(power.known_ns, 3 * kSecond);
  EXPECT_EQ((std::vector{power.least, power.most, power.last}), (std::vector<double>{60, 300, 60}));
}

TEST_F(JobBookTest, AJobThatBeginsBetweenTwoLooks) {
  At(0, {Watts(1, 100)}, {Facts(5, 0, {1})});
  At(10, {Watts(1, 100)}, {Facts(5, 0, {1}), Facts(6, 7, {1})});
  EXPECT_DOUBLE_EQ(The(5).values.at(0).sum, 1000);
  EXPECT_DOUBLE_EQ(The(6).values.at(0).sum, 300) << "of the 3 s that it runs";
}

TEST_F(JobBookTest, WhatIsKnownOfACounterIsWhatItGrewBy) {
  const std::vector<JobFacts> running = {Facts(5, 0, {})};
  At(0, {Steps(5, 100), Steps(6, 1)}, running);
  At(1, {Steps(5, 130)}, running);
  At(2, {Steps(5, 4)}, running);
  ASSERT_EQ(The(5).values.size(), 1U);
  const JobValue& steps = The(5).values[0];
  EXPECT_DOUBLE_EQ(steps.sum, 34) << "it began anew";
  EXPECT_TRUE(steps.labels.empty()) << "they name the process";
}

TEST_F(JobBookTest, NothingIsKnownOfALongSleep) {
  const std::vector<JobFacts> running = {Facts(5, 0, {1})};
  At(0, {Watts(1, 100)}, running);
  At(3600, {Watts(1, 100)}, running);
  At(3601, {Watts(1, 100)}, running);
  EXPECT_DOUBLE_EQ(The(5).values.at(0).sum, 100);
}

TEST_F(JobBookTest, AnEndAndAPidThatIsUsedAgain) {
  At(0, {Watts(1, 100)}, {Facts(5, 0, {1})});
  EXPECT_FALSE(book_.IsIdle());
  At(1, {Watts(1, 100)}, {Facts(5, 1, {1})});
  ASSERT_EQ(book_.All().size(), 2U);
  EXPECT_EQ(book_.All()[0]->end_wall_ns, 0U);
  EXPECT_EQ(book_.All()[1]->end_wall_ns, kWall + kSecond);
  At(2, {}, {});
  EXPECT_TRUE(book_.IsIdle());
  EXPECT_EQ(book_.All()[0]->end_wall_ns, kWall + 2 * kSecond) << "the newest first";
  // The time without jobs is nobody's.
  At(30, {Watts(1, 100)}, {Facts(9, 0, {1})});
  EXPECT_EQ(The(9).values.at(0).known_ns, 0U);
  EXPECT_DOUBLE_EQ(The(9).values.at(0).Mean(), 100);
}

TEST_F(JobBookTest, DevicesThatAreOpenedLater) {
  At(0, {Watts(1, 100)}, {Facts(5, 0, {})});
  At(1, {Watts(1, 100)}, {Facts(5, 0, {1})});
  EXPECT_EQ(The(5).facts.devices, std::vector<uint32_t>{1});
  EXPECT_EQ(The(5).values.size(), 1U);
}

TEST(JobBookLimits, NobodysJobsMakeAnothersGo) {
  JobBook book({.ended = 3, .values = 100});
  uint64_t second = 0;
  const auto ends = [&](pid_t pid, uid_t uid) {
    Snapshot snapshot;
    snapshot.wall_ns = kWall + second * kSecond;
    const std::vector<JobFacts> one = {Facts(pid, second, {}, uid)};
    book.Add(snapshot, one, ++second * kSecond);
    book.Add(snapshot, {}, ++second * kSecond);
  };
  ends(1, 7);
  for (pid_t pid = 2; pid < 10; ++pid) ends(pid, 8);
  std::vector<pid_t> left;
  for (const Job* const job : book.All()) left.push_back(job->facts.pid);
  EXPECT_EQ(left, (std::vector<pid_t>{9, 8, 1}));
}

TEST(JobBookLimits, ValuesHaveALimitThatIsTold) {
  JobBook book({.ended = 10, .values = 2});
  Snapshot snapshot;
  snapshot.wall_ns = kWall;
  snapshot.samples = {Watts(0, 1), Watts(1, 1), Watts(2, 1)};
  const std::vector<JobFacts> first = {Facts(5, 0, {0, 1, 2})}, second = {Facts(6, 0, {0, 1})};
  book.Add(snapshot, first, kSecond);
  EXPECT_EQ(book.All()[0]->values.size(), 2U);
  EXPECT_EQ(book.All()[0]->left_out, 1U);
  // Those of jobs that ended go for those that run.
  book.Add(snapshot, second, 2 * kSecond);
  ASSERT_EQ(book.All().size(), 1U);
  EXPECT_EQ(book.All()[0]->values.size(), 2U);
  EXPECT_EQ(book.All()[0]->left_out, 0U);
}

}  // namespace
}  // namespace profd::live
