#include "daemon/live/limits.h"

#include <gtest/gtest.h>

namespace profd::live {
namespace {

constexpr uint64_t kMb = 1'000'000;

int After(Thrift& thrift, int seconds, double cpu_percent, uint64_t rss_bytes = 0) {
  int level = 0;
  while (seconds-- > 0) level = thrift.Judge(cpu_percent, rss_bytes);
  return level;
}

TEST(Thrift, GoesDownStepByStepWhileItTakesTooMuch) {
  Thrift thrift({.cpu_percent = 5, .rss_mb = 0});
  EXPECT_EQ(After(thrift, 2, 6), 0);
  EXPECT_EQ(After(thrift, 1, 6), 1);
  EXPECT_EQ(After(thrift, 3, 6), 2);
  EXPECT_EQ(After(thrift, 100, 6), Thrift::kMostLevel);
}

TEST(Thrift, ABurstIsNoReason) {
  Thrift thrift({.cpu_percent = 5, .rss_mb = 0});
  for (int i = 0; i < 50; ++i) {
    EXPECT_EQ(After(thrift, 2, 90), 0);
    EXPECT_EQ(After(thrift, 1, 5), 0);
  }
}

TEST(Thrift, ComesBackOnlyWellBelow) {
  Thrift thrift({.cpu_percent = 10, .rss_mb = 100});
  EXPECT_EQ(After(thrift, 3, 1, 101 * kMb), 1);
  EXPECT_EQ(After(thrift, 100, 9, 50 * kMb), 1);
  EXPECT_EQ(After(thrift, 100, 1, 90 * kMb), 1);
  EXPECT_EQ(After(thrift, 9, 1, 50 * kMb), 1);
  EXPECT_EQ(After(thrift, 1, 1, 50 * kMb), 0);
}

TEST(Thrift, WithoutLimitsNothingIsTooMuch) {
  Thrift thrift({.cpu_percent = 0, .rss_mb = 0});
  EXPECT_EQ(After(thrift, 100, 1e6, 1ull << 40), 0);
}

}  // namespace
}  // namespace profd::live
