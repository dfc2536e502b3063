#include "client/analyze/model/match/clocks.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace profd::analyze {
namespace {

constexpr Ns kUs = 1'000, kMs = 1'000'000, kBegin = 1'000'000 * kMs, kAhead = 700 * kUs;

// Stages of a pipeline, a node each: the clock of every other node is ahead.
class ClocksTest : public testing::Test {
 protected:
  static constexpr int kSteps = 4;

  void Ranks(size_t count) {
    job_.ranks.resize(count);
    for (int step = 0; step < kSteps; ++step) job_.steps.push_back(step);
    for (size_t r = 0; r < count; ++r) {
      Rank& rank = job_.ranks[r];
      rank.number = static_cast<int64_t>(r);
      rank.node = "node" + std::to_string(r);
      for (int step = 0; step < kSteps; ++step) {
        rank.steps.push_back({step, Of(r, kBegin + step * 20 * kMs), Of(r, kBegin + (step + 1) * 20 * kMs)});
        rank.job_step.push_back(static_cast<uint32_t>(step));
      }
    }
  }
  static Ns Of(size_t rank, Ns time) { return time + (rank % 2 == 1 ? kAhead : 0); }
  void Part(size_t rank, const char* type, const std::string& group, uint32_t step, Ns begin, Ns end,
            uint64_t bytes = 0) {
    Collective part;
    part.bytes = bytes;
    part.begin = Of(rank, begin);
    part.end = Of(rank, end);
    part.type = job_.texts.Intern(type);
    part.group = job_.texts.Intern(group);
    part.step = step;
    job_.ranks[rank].collectives.push_back(part);
  }
  // In each step, `at` behind its begin. The sender is done `early` before the receiver.
  void Message(size_t from, size_t to, Ns at, Ns early = 0) {
    for (uint32_t step = 0; step < kSteps; ++step) {
      const Ns begin = kBegin + step * 20 * kMs + at;
      const std::string group = std::to_string(std::min(from, to)) + "-" + std::to_string(std::max(from, to));
      Part(from, "send", group, step, begin, begin + 200 * kUs - early);
      Part(to, "receive", group, step, begin - 300 * kUs, begin + 200 * kUs);
    }
  }
  // Of two sizes; each rank comes at a time of its own, and ends so much later.
  template <typename Later>
  void Collectives(Later later) {
    for (uint32_t step = 0; step < kSteps; ++step) {
      for (Ns part = 0; part < 4; ++part) {
        const Ns begin = kBegin + step * 20 * kMs + part * 4 * kMs, length = (part % 2 == 0 ? 2 : 1) * kMs;
        for (size_t rank = 0; rank < job_.ranks.size(); ++rank) {
          const Ns comes = begin + static_cast<Ns>((rank * 7 + part * 3 + step) % 5) * 30 * kUs;
          Part(rank, "allReduce", "all", step, comes, begin + 120 * kUs + length + later(rank, length),
               part % 2 == 0 ? 4 << 20 : 1 << 20);
        }
      }
    }
  }
  // All of them are on one node.
  void OfOneNode() {
    for (Rank& rank : job_.ranks) rank.node = "node";
  }
  // How far the clock of `rank` is ahead of the first one's, afterwards.
  Ns Ahead(size_t rank) {
    const Matches matches = MatchCollectives(job_);
    clocks_ = AlignClocks(job_, matches);
    return job_.ranks[rank].steps[0].begin - job_.ranks[0].steps[0].begin;
  }

  Job job_;
  Clocks clocks_;
};

TEST_F(ClocksTest, MessagesThatGoBothWaysTellOfClocks) {
  Ranks(2);
  Message(0, 1, 2 * kMs);
  Message(1, 0, 12 * kMs);
  EXPECT_LE(std::abs(Ahead(1)), 2 * kUs);
  EXPECT_TRUE(clocks_.from_data);
}

TEST_F(ClocksTest, AlsoWhereSendersDoNotWait) {
  Ranks(2);
  Message(0, 1, 2 * kMs, 150 * kUs);
  Message(1, 0, 12 * kMs, 150 * kUs);
  EXPECT_LE(std::abs(Ahead(1)), 2 * kUs);
}

TEST_F(ClocksTest, AndFromStageToStage) {
  Ranks(4);
  for (size_t stage = 0; stage < 3; ++stage) {
    Message(stage, stage + 1, static_cast<Ns>(2 + stage) * kMs);
    Message(stage + 1, stage, static_cast<Ns>(16 - stage) * kMs);
  }
  EXPECT_LE(std::abs(Ahead(3)), 5 * kUs);
}

TEST_F(ClocksTest, OfMessagesOneWayNobodyKnowsHowLongTheyTook) {
  Ranks(2);
  Message(0, 1, 2 * kMs);
  EXPECT_EQ(Ahead(1), kAhead);
  EXPECT_FALSE(clocks_.from_data);
}

// What has ended on one of them before it begins on another has not been seen by one clock.
TEST_F(ClocksTest, RanksOfANodeWhoseClocksDifferHaveClocksOfTheirOwn) {
  Ranks(4);
  OfOneNode();
  for (uint32_t step = 0; step < kSteps; ++step) {
    for (Ns part = 0; part < 3; ++part) {
      const Ns begin = kBegin + step * 20 * kMs + part * 3 * kMs;
      for (size_t rank = 0; rank < 4; ++rank) Part(rank, "allReduce", "all", step, begin, begin + 300 * kUs);
    }
  }
  EXPECT_LE(std::abs(Ahead(1)), 2 * kUs);
  EXPECT_LE(std::abs(Ahead(3)), 2 * kUs);
  ASSERT_EQ(job_.notes.size(), 1u);
  EXPECT_FALSE(job_.notes[0].lost);
  EXPECT_NE(job_.notes[0].text.find("the clocks of its ranks differ"), std::string::npos)
      << job_.notes[0].text;
}

TEST_F(ClocksTest, AlsoOfStages) {
  Ranks(3);
  OfOneNode();
  for (size_t stage = 0; stage < 2; ++stage) {
    Message(stage, stage + 1, static_cast<Ns>(2 + stage) * kMs);
    Message(stage + 1, stage, static_cast<Ns>(16 - stage) * kMs);
  }
  EXPECT_LE(std::abs(Ahead(1)), 5 * kUs);
  EXPECT_EQ(job_.notes.size(), 1u);
}

// A rank that comes late to each of them is no rank with another clock.
TEST_F(ClocksTest, RanksOfANodeHaveOneClockElse) {
  Ranks(2);
  OfOneNode();
  for (uint32_t step = 0; step < kSteps; ++step) {
    for (Ns part = 0; part < 3; ++part) {
      const Ns begin = kBegin + step * 20 * kMs + part * 3 * kMs;
      Part(0, "allReduce", "all", step, begin, begin + 2 * kMs + kAhead);
      Part(1, "allReduce", "all", step, begin + kMs, begin + 2 * kMs);
    }
  }
  EXPECT_EQ(Ahead(1), kAhead);
  EXPECT_TRUE(job_.notes.empty());
}

// Each collective takes longer than the clocks are apart.
TEST_F(ClocksTest, RanksOfANodeEndCollectivesTogether) {
  Ranks(4);
  OfOneNode();
  Collectives([](size_t, Ns) { return Ns{0}; });
  EXPECT_LE(std::abs(Ahead(1)), 2 * kUs);
  EXPECT_LE(std::abs(Ahead(3)), 2 * kUs);
  ASSERT_EQ(job_.notes.size(), 1u);
}

TEST_F(ClocksTest, ARankWhoseDataTakeLongerHasNoOtherClock) {
  for (const Ns constant : {0, 1}) {
    job_ = {};
    Ranks(5);
    OfOneNode();
    for (Rank& rank : job_.ranks) {  // one clock
      const bool is_ahead = &rank - job_.ranks.data() == 1 || &rank - job_.ranks.data() == 3;
      for (Step& step : rank.steps) step.begin -= is_ahead ? kAhead : 0, step.end -= is_ahead ? kAhead : 0;
    }
    // By a tenth of what they take, or always by 60 us.
    Collectives([&](size_t rank, Ns length) {
      return (rank % 2 == 1 ? -kAhead : 0) +
             (rank == 2 ? constant * 60 * kUs + (1 - constant) * length / 10 : 0);
    });
    const Ns before = job_.ranks[2].collectives[0].end;
    const Matches matches = MatchCollectives(job_);
    AlignClocks(job_, matches);
    EXPECT_EQ(job_.ranks[2].collectives[0].end, before);
    EXPECT_TRUE(job_.notes.empty());
  }
}

TEST_F(ClocksTest, CollectivesTellMore) {
  Ranks(2);
  Message(0, 1, 2 * kMs, 150 * kUs);
  Message(1, 0, 12 * kMs);
  for (uint32_t step = 0; step < kSteps; ++step) {
    const Ns begin = kBegin + step * 20 * kMs + 17 * kMs;
    for (size_t rank = 0; rank < 2; ++rank) Part(rank, "allReduce", "all", step, begin, begin + kMs);
  }
  EXPECT_EQ(Ahead(1), 0);
}

}  // namespace
}  // namespace profd::analyze
