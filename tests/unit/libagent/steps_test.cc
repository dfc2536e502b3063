#include "libagent/src/steps.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::agent::testing {
namespace {

// One letter a step: the cycle's digit where it is recorded, else a dot.
std::string Picture(const StepSchedule& schedule, uint64_t steps) {
  std::string picture;
  for (uint64_t i = 0; i < steps; ++i) {
    uint64_t cycle = 99;
    picture += StepIsActive(schedule, i, &cycle) ? static_cast<char>('0' + cycle) : '.';
  }
  return picture;
}

TEST(StepsTest, Schedules) {
  EXPECT_EQ(Picture({}, 5), ".....");
  EXPECT_EQ(Picture({.active = 1}, 4), "0123");
  EXPECT_EQ(Picture({.active = 2, .repeat = 1}, 5), "00...");
  EXPECT_EQ(Picture({.skip_first = 2, .wait = 1, .warmup = 1, .active = 2, .repeat = 2}, 12), "....00..11..");
  EXPECT_EQ(Picture({.skip_first = 1, .wait = 2, .active = 1}, 10), "...0..1..2");
  EXPECT_EQ(Picture({.skip_first = 1, .wait = 2, .active = 1, .skip_first_wait = true}, 8), ".0..1..2");
}

}  // namespace
}  // namespace profd::agent::testing
