#include "base/edit_distance.h"

#include <gtest/gtest.h>

#include <string>

namespace profd::base {
namespace {

TEST(EditDistance, CountsASwapOnce) {
  EXPECT_EQ(EditDistance("", ""), 0U);
  EXPECT_EQ(EditDistance("abc", ""), 3U);
  EXPECT_EQ(EditDistance("hmb", "hbm"), 1U);
  EXPECT_EQ(EditDistance("strat", "start"), 1U);
  EXPECT_EQ(EditDistance("foo", "qos"), 2U);
  EXPECT_EQ(EditDistance("kitten", "sitting"), 3U);
}

TEST(EditDistance, NearestIsNearOrNone) {
  const std::vector<std::string> known = {"qos", "host-cpu", "host-mem", "hbm"};
  EXPECT_EQ(Nearest("hmb", known), "hbm");
  EXPECT_EQ(Nearest("host-men", known), "host-mem");
  EXPECT_EQ(Nearest("foo", known), "");
  EXPECT_EQ(Nearest("", known), "");
  EXPECT_EQ(Nearest(std::string(5000, 'x'), known), "");
}

}  // namespace
}  // namespace profd::base
