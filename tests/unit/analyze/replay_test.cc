// Jobs of a few tasks, whose times can be told by hand.
#include "client/analyze/model/replay/replay.h"

#include <gtest/gtest.h>

#include <vector>

#include "client/analyze/job.h"
#include "client/analyze/model/match/match.h"
#include "client/analyze/model/time_model.h"
#include "client/analyze/reading/rank_builder.h"

namespace profd::analyze {
namespace {

constexpr Ns kUs = 1000;

// One rank on one device; all times in µs.
class RankOf {
 public:
  explicit RankOf(int64_t number) : builder_("rank " + std::to_string(number)) {
    type_ = builder_.Text("MatMul");
    builder_.At(0).number = number;
  }
  RankOf& Step(int64_t number, Ns begin, Ns end) {
    builder_.AddStep({number, begin * kUs, end * kUs}, -1, 0);
    return *this;
  }
  // Launched by a call of 2 µs, `launched` µs after the epoch; -1: nobody knows.
  RankOf& Kernel(Ns begin, Ns end, Ns launched = -1, int64_t stream = 1) {
    Task task;
    task.begin = begin * kUs;
    task.end = end * kUs;
    task.name = type_;
    task.kind = builder_.Class(type_, 0, Work::kCompute);
    builder_.AddTask(0, task, stream, Launch(launched));
    return *this;
  }
  RankOf& AllReduce(Ns begin, Ns end, Ns launched = -1, const char* group = "tp") {
    Collective collective;
    collective.begin = begin * kUs;
    collective.end = end * kUs;
    collective.group = builder_.Text(group);
    collective.type = builder_.Text("allReduce");
    collective.name = builder_.Text("hcom_allReduce__1_1_1");
    collective.bytes = 1 << 20;
    builder_.AddCollective(0, collective, Launch(launched));
    return *this;
  }
  RankOf& Synchronise(Ns begin, Ns end) {
    builder_.AddCall(
        {begin * kUs, end * kUs, builder_.Text("aclrtSynchronizeStream"), 0, CallKind::kSynchronise}, 1,
        1000 + next_++);
    return *this;
  }
  Part Take() { return builder_.Finish(); }

 private:
  int64_t Launch(Ns at) {
    if (at < 0) return RankBuilder::kNoConnection;
    builder_.AddCall({at * kUs, (at + 2) * kUs, builder_.Text("launch"), 0, CallKind::kOther}, 1, next_);
    return next_++;
  }
  int64_t next_ = 1;
  RankBuilder builder_;
  TextId type_;
};

class ReplayTest : public testing::Test {
 protected:
  void Make(const std::vector<RankOf*>& ranks) {
    std::vector<Part> parts;
    parts.reserve(ranks.size());
    for (RankOf* rank : ranks) parts.push_back(rank->Take());
    job_ = std::make_unique<Job>(Join(std::move(parts)));
    matches_ = std::make_unique<Matches>(MatchCollectives(*job_));
    replay_ = std::make_unique<Replay>(*job_, *matches_, 1);
    // As recorded it must come out as recorded.
    const auto same = replay_->Run(nullptr);
    EXPECT_TRUE(same.exact);
    EXPECT_EQ(same.step_end, replay_->Measured().step_end);
  }
  // End of the last step, µs, when the kernels of a rank take `part` of their time.
  Ns EndWith(size_t rank, double part) {
    Lengths lengths;
    for (Ns& length : replay_->Touch(lengths, rank).task)
      length = static_cast<Ns>(static_cast<double>(length) * part);
    return replay_->Run(&lengths).step_end.back() / kUs;
  }
  std::unique_ptr<Job> job_;
  std::unique_ptr<Matches> matches_;
  std::unique_ptr<Replay> replay_;
};

TEST_F(ReplayTest, ACollectiveWaitsForTheLastRank) {
  RankOf fast(0), slow(1);
  fast.Step(0, 0, 500).Kernel(0, 100).AllReduce(101, 250).Kernel(251, 300);
  slow.Step(0, 0, 500).Kernel(0, 200).AllReduce(201, 250).Kernel(251, 300);
  Make({&fast, &slow});
  ASSERT_EQ(matches_->all.size(), 1u);
  EXPECT_EQ(replay_->Transfer(0), 49 * kUs);
  EXPECT_EQ(EndWith(0, 0.5), 300);  // who came last is the other one
  EXPECT_EQ(EndWith(1, 0.5), 200);  // 100 less before the collective, and the fast one has 49 behind it
}

TEST_F(ReplayTest, TheHostHoldsTheDeviceUp) {
  RankOf rank(0);
  rank.Step(0, 0, 1000);
  for (Ns i = 0; i < 10; ++i)
    rank.Kernel(10 + 20 * i, 25 + 20 * i, 5 + 20 * i);  // each launched 5 before it begins
  Make({&rank});
  EXPECT_EQ(EndWith(0, 0.2), 193);  // 205 less 12 of the last kernel: launches stay where they were
  Lengths lengths;
  for (Ns& less : replay_->Touch(lengths, 0).call_less) less = 10 * kUs;
  EXPECT_EQ(replay_->Run(&lengths).step_end.back() / kUs, 205 - 9 * 5);  // then kernels follow each other
}

TEST_F(ReplayTest, AHostThatWaitsForTheDeviceWaitsLess) {
  RankOf rank(0);
  rank.Step(0, 0, 1000).Kernel(10, 110, 5).Synchronise(20, 115).Kernel(130, 140, 125);
  Make({&rank});
  EXPECT_EQ(EndWith(0, 0.5), 85);  // 50 less in front of the wait, 5 of the last kernel
}

TEST_F(ReplayTest, WhatIsHiddenCostsNothing) {
  // The gradients go behind the second kernel; the third begins right behind the longer of both.
  RankOf one(0), other(1);
  for (RankOf* rank : {&one, &other})
    rank->Step(0, 0, 500)
        .Kernel(0, 100, 0)
        .AllReduce(101, 150, 50, "dp")
        .Kernel(101, 201, 60)
        .Kernel(202, 232, 70);
  Make({&one, &other});
  Lengths lengths;
  replay_->TouchMatches(lengths)[0] = 40 * kUs;
  EXPECT_EQ(replay_->Run(&lengths).step_end.back() / kUs, 232);
}

TEST_F(ReplayTest, RanksThatWaitCrosswiseDoNotHangIt) {
  RankOf one(0), other(1);
  one.Step(0, 0, 500).AllReduce(10, 50, -1, "a").Kernel(51, 60).AllReduce(61, 100, -1, "b");
  other.Step(0, 0, 500).AllReduce(10, 100, -1, "b").Kernel(101, 110).AllReduce(111, 150, -1, "a");
  std::vector<Part> parts;
  parts.push_back(one.Take());
  parts.push_back(other.Take());
  Job job = Join(std::move(parts));
  const Matches matches = MatchCollectives(job);
  EXPECT_FALSE(Replay(job, matches, 1).Run(nullptr).exact);
}

// Of three that look the same, without numbers in their names, the lost one may be any: a wrong partner would
// make a rank late.
TEST_F(ReplayTest, OneCollectiveMoreOnOneRankLeavesAllOfThemOut) {
  RankOf one(0), other(1);
  one.Step(0, 0, 500).AllReduce(10, 50).AllReduce(60, 90).AllReduce(100, 130);
  other.Step(0, 0, 500).AllReduce(10, 50).AllReduce(100, 130);
  std::vector<Part> parts;
  parts.push_back(one.Take());
  parts.push_back(other.Take());
  Job job = Join(std::move(parts));
  const Matches matches = MatchCollectives(job);
  EXPECT_EQ(matches.all.size(), 0u);
  EXPECT_EQ(matches.unmatched, 5u);
}

TEST(TimeModelTest, SharesOfAStepAreUnions) {
  RankOf rank(0);
  rank.Step(0, 0, 1000)
      .Kernel(100, 200)
      .Kernel(150, 250, -1, 2)
      .Kernel(200, 200)
      .AllReduce(240, 300)
      .AllReduce(400, 500, -1, "dp");
  std::vector<Part> parts;
  parts.push_back(rank.Take());
  const Job job = Join(std::move(parts));
  const StepShares shares = SharesOf(job, job.ranks[0])[0];
  EXPECT_EQ(shares.computing, 150 * kUs);
  EXPECT_EQ(shares.communication, 160 * kUs);
  EXPECT_EQ(shares.overlapped, 10 * kUs);
  EXPECT_EQ(shares.exposed, 150 * kUs);
  EXPECT_EQ(shares.free, 700 * kUs);
  EXPECT_EQ(shares.preparing, 100 * kUs);
}

}  // namespace
}  // namespace profd::analyze
