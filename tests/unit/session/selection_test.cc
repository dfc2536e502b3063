#include "daemon/session/plan/selection.h"

#include <gtest/gtest.h>

namespace profd::session {
namespace {

TEST(LabelMatches, TextsListsAndRanges) {
  EXPECT_TRUE(LabelMatches("3", "3"));
  EXPECT_FALSE(LabelMatches("3", "33"));
  EXPECT_TRUE(LabelMatches("0-7", "0"));
  EXPECT_TRUE(LabelMatches("0-7", "7"));
  EXPECT_FALSE(LabelMatches("0-7", "8"));
  EXPECT_TRUE(LabelMatches("0-1,6,last", "6"));
  EXPECT_TRUE(LabelMatches("0-1,6,last", "last"));
  EXPECT_TRUE(LabelMatches("job-7", "job-7"));  // a dash does not make a range
  EXPECT_FALSE(LabelMatches("0-7", "x"));
  EXPECT_FALSE(LabelMatches("7-0", "3"));
  EXPECT_FALSE(LabelMatches("", "3"));
  EXPECT_TRUE(LabelMatches("", ""));
  EXPECT_FALSE(LabelMatches("-", "3"));
  EXPECT_FALSE(LabelMatches("0-99999999999999999999", "3"));
}

}  // namespace
}  // namespace profd::session
