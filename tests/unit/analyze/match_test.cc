// Which collectives of two ranks are one, where some of them are lost.
#include "client/analyze/model/match/match.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace profd::analyze {
namespace {

constexpr int kSteps = 3, kEach = 6;

class MatchTest : public testing::Test {
 protected:
  MatchTest() {
    job_.ranks.resize(2);
    for (int step = 0; step < kSteps; ++step) job_.steps.push_back(step);
    for (Rank& rank : job_.ranks) {
      for (uint32_t step = 0; step < kSteps; ++step) {
        rank.steps.push_back({step, step * 1000, step * 1000 + 999});
        rank.job_step.push_back(step);
      }
    }
  }
  // The `number`-th of all; `name`: what follows the type.
  void Add(size_t rank, int number, const std::string& name, const std::string& type = "allReduce") {
    Collective one;
    one.begin = number / kEach * 1000 + number % kEach * 10;
    one.end = one.begin + 5;
    one.name = job_.texts.Intern("hcom_" + type + name);
    one.type = job_.texts.Intern(type);
    one.group = job_.texts.Intern("tp");
    one.step = static_cast<uint32_t>(number / kEach);
    job_.ranks[rank].collectives.push_back(one);
  }
  // Of each match how far its members are apart: 0 where they are one collective.
  std::vector<Ns> Apart() {
    std::vector<Ns> apart;
    for (const Match& match : MatchCollectives(job_).all) {
      const auto& [one, other] = std::pair(match.members[0], match.members[1]);
      apart.push_back(job_.ranks[one.rank].collectives[one.collective].begin -
                      job_.ranks[other.rank].collectives[other.collective].begin);
    }
    return apart;
  }

  Job job_;
};

TEST_F(MatchTest, NumbersInNamesSayWhichAreLost) {
  // The recording of the second rank began four collectives later, and it has lost every third one of the
  // last two steps.
  for (int i = 0; i < kSteps * kEach; ++i) {
    Add(0, i, "__749_" + std::to_string(i + 4) + "_1");
    if (i < kEach || i % 3 != 0) Add(1, i, "__749_" + std::to_string(i) + "_1");
  }
  EXPECT_EQ(Apart(), std::vector<Ns>(kEach + 2 * kEach * 2 / 3, 0));
}

TEST_F(MatchTest, WithoutNumbersNobodyGuessesWhichOfMany) {
  for (int i = 0; i < kSteps * kEach; ++i) {
    Add(0, i, "_");
    if (i < kEach || i % 3 != 0) Add(1, i, "_");
  }
  EXPECT_EQ(Apart(), std::vector<Ns>(kEach, 0));
}

TEST_F(MatchTest, WhatIsLikeNoOtherIsFound) {
  for (int i = 0; i < kSteps * kEach; ++i) {
    const std::string type = "type" + std::to_string(i % kEach);
    Add(0, i, "_", type);
    if (i % 3 != 0) Add(1, i, "_", type);
  }
  EXPECT_EQ(Apart(), std::vector<Ns>(kSteps * kEach * 2 / 3, 0));
}

}  // namespace
}  // namespace profd::analyze
