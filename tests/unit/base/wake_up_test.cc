#include "base/threads/wake_up.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/clock.h"

namespace profd::base {
namespace {

TEST(WakeUpTest, ADeadlineInThePastReturnsAtOnce) {
  WakeUp bell;
  bell.Prepare();
  EXPECT_FALSE(bell.Wait(MonotonicNs() - 1));
}

TEST(WakeUpTest, ARingBetweenPrepareAndWaitIsNotLost) {
  WakeUp bell;
  bell.Prepare();
  bell.Ring();
  EXPECT_TRUE(bell.Wait(UINT64_MAX));
}

TEST(WakeUpTest, NobodySleepsNobodyRings) {
  WakeUp bell;
  bell.Ring();
  bell.Prepare();
  EXPECT_FALSE(bell.Wait(MonotonicNs() + 1'000'000));
}

TEST(WakeUpTest, EveryHandOverWakesTheSleeper) {
  constexpr int kRounds = 20'000;
  WakeUp bell;
  std::atomic<int> given{0};
  std::thread giver([&] {
    for (int i = 0; i < kRounds; ++i) {
      given.fetch_add(1, std::memory_order_release);
      bell.Ring();
    }
  });
  int seen = 0;
  while (seen < kRounds) {
    bell.Prepare();
    const int now = given.load(std::memory_order_acquire);
    if (now != seen) {
      bell.Cancel();
      seen = now;
      continue;
    }
    bell.Wait(UINT64_MAX);  // would hang for ever on a lost wake-up
  }
  giver.join();
}

}  // namespace
}  // namespace profd::base
