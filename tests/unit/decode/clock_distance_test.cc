#include "format/decode/agents/clock_distance.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

namespace profd::format {
namespace {

// Events of one clock, and what it learns of them from another one that is so much ahead.
class Events {
 public:
  explicit Events(std::vector<int64_t> pauses_ns) : pauses_(std::move(pauses_ns)) {}

  // `count` of them; each is seen with all that are within a millisecond.
  void Tell(ClockDistance& distance, int count, int64_t ahead_ns, int64_t shaky_ns = 0) {
    std::vector<int64_t> times;
    for (int i = 0; i < count + 64; ++i) times.push_back(now_ += pauses_[at_++ % pauses_.size()]);
    for (int i = 32; i < count + 32; ++i) {
      std::vector<int64_t> seen;
      for (size_t j = 0; j < times.size(); ++j) {
        const int64_t shaken = shaky_ns == 0 ? 0 : static_cast<int64_t>(j * 7919 % 7) * shaky_ns / 7;
        const int64_t apart = times[j] + ahead_ns + shaken - times[static_cast<size_t>(i)];
        if (apart > -1'000'000 && apart < 1'000'000) seen.push_back(apart);
      }
      distance.Take(seen);
    }
  }

 private:
  std::vector<int64_t> pauses_;
  size_t at_ = 0;
  int64_t now_ = 0;
};

const std::vector<int64_t> kUneven = {310'000, 95'000,  402'000, 77'000,  251'000, 333'000,
                                      128'000, 190'000, 61'000,  290'000, 505'000};

TEST(ClockDistanceTest, IsWhatMostEventsHave) {
  // Also where the one before or after is nearer than the right one.
  for (const int64_t ahead : {0, 3'000, -180'000, 240'000, 700'000}) {
    ClockDistance distance;
    Events events(kUneven);
    events.Tell(distance, 16, ahead);
    EXPECT_EQ(distance.ns(), std::nullopt) << "too few";
    events.Tell(distance, 200, ahead, 3'000);
    ASSERT_TRUE(distance.ns()) << ahead;
    EXPECT_NEAR(*distance.ns(), ahead + 1'500, 3'000);
  }
}

TEST(ClockDistanceTest, AtOnePaceNobodyKnows) {
  ClockDistance distance;
  Events events({200'000});
  events.Tell(distance, 500, 100'000);
  EXPECT_EQ(distance.ns(), std::nullopt);
}

TEST(ClockDistanceTest, AClockThatIsSetIsFollowed) {
  ClockDistance distance;
  Events events(kUneven);
  events.Tell(distance, 600, 40'000);
  ASSERT_TRUE(distance.ns());
  for (int i = 0; i < 100; ++i) {
    events.Tell(distance, 8, -300'000);
    if (!distance.ns()) continue;
    const bool old = std::abs(*distance.ns() - 40'000) < 4'000,
               latest = std::abs(*distance.ns() + 300'000) < 4'000;
    EXPECT_TRUE(old || latest) << *distance.ns();
  }
  ASSERT_TRUE(distance.ns());
  EXPECT_NEAR(*distance.ns(), -300'000, 4'000);
}

TEST(ClockDistanceTest, NothingIsLearntOfNothing) {
  ClockDistance distance;
  for (int i = 0; i < 1000; ++i) distance.Take({});
  EXPECT_EQ(distance.ns(), std::nullopt);
}

}  // namespace
}  // namespace profd::format
