// Whether what is called slower is: against tables of Student's distribution, and by drawing.
#include "client/analyze/compare/noise.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

namespace profd::analyze {
namespace {

TEST(NoiseTest, StudentsDistributionIsTheOneInTables) {
  EXPECT_NEAR(StudentQuantile(0.05, 1), 12.706, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 2), 4.303, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 5), 2.571, 0.001);
  EXPECT_NEAR(StudentQuantile(0.05, 30), 2.042, 0.001);
  EXPECT_NEAR(StudentQuantile(0.001, 2), 31.599, 0.001);
  EXPECT_NEAR(StudentQuantile(0.001, 7), 5.408, 0.001);
}

// Steps with a memory of `memory`, that differ by `difference` standard deviations.
double ShareOfVerdicts(size_t steps, double memory, double difference) {
  std::mt19937 random(7);
  std::normal_distribution<double> normal;
  const auto series = [&](double mean) {
    std::vector<double> values;
    double state = normal(random);
    for (size_t i = 0; i < steps; ++i) {
      values.push_back(mean + state);
      state = memory * state + std::sqrt(1 - memory * memory) * normal(random);
    }
    return values;
  };
  constexpr int kDraws = 2000;
  int verdicts = 0;
  for (int i = 0; i < kDraws; ++i) {
    const Difference found = Judge(series(100), series(100 + difference), {.rows = 1, .least = 6});
    verdicts += found.judgement == Judgement::kSlower || found.judgement == Judgement::kFaster;
  }
  return static_cast<double>(verdicts) / kDraws;
}

TEST(NoiseTest, NoiseIsCalledADifferenceAtMostOnceInTwenty) {
  EXPECT_LE(ShareOfVerdicts(6, 0, 0), 0.055);
  EXPECT_LE(ShareOfVerdicts(40, 0, 0), 0.055);
}

TEST(NoiseTest, ADifferenceIsSeen) {
  EXPECT_GE(ShareOfVerdicts(8, 0, 3), 0.95);
  EXPECT_GE(ShareOfVerdicts(40, 0, 1), 0.95);
}

TEST(NoiseTest, StepsThatHaveToDoWithEachOtherCountForLess) {
  // As if they were independent: two of five.
  EXPECT_LE(ShareOfVerdicts(60, 0.7, 0), 0.15);
}

TEST(NoiseTest, FewStepsAndSmallChangesAllowNoVerdict) {
  const std::vector<double> five{10, 10.1, 9.9, 10, 10}, one{10};
  std::vector<double> more = five;
  for (double& value : more) value += 5;
  EXPECT_EQ(Judge(five, more, {.rows = 1, .least = 6}).judgement, Judgement::kTooFew);
  EXPECT_EQ(Judge(one, more, {}).judgement, Judgement::kTooFew);
  EXPECT_EQ(Judge({}, {}, {}).judgement, Judgement::kTooFew);
  EXPECT_EQ(Judge(five, more, {}).judgement, Judgement::kSlower);
  EXPECT_EQ(Judge(more, five, {}).judgement, Judgement::kFaster);
  EXPECT_EQ(Judge(five, more, {.rows = 1, .least = 2, .least_change = 6}).judgement, Judgement::kNoise);
  EXPECT_EQ(Judge(five, five, {}).judgement, Judgement::kNoise);
  const std::vector<double> zeros(8, 0), all_same(8, 3);
  EXPECT_EQ(Judge(zeros, all_same, {}).judgement, Judgement::kSlower);
}

}  // namespace
}  // namespace profd::analyze
