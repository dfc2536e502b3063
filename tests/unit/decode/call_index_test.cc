#include "format/decode/cann/call_index.h"

#include <gtest/gtest.h>

namespace profd::format {
namespace {

constexpr uint32_t kThread = 7, kOther = 8;

TEST(CallIndexTest, TheInnermostCallAroundAMoment) {
  CallIndex calls;
  calls.Add(kThread, 100, 900, 0);
  calls.Add(kThread, 200, 300, 1);
  calls.Add(kThread, 220, 240, 2);
  calls.Add(kThread, 400, 500, 3);
  calls.Finish();
  EXPECT_EQ(calls.Around(kThread, 99), -1);
  EXPECT_EQ(calls.Around(kThread, 100), 0);
  EXPECT_EQ(calls.Around(kThread, 230), 2);
  EXPECT_EQ(calls.Around(kThread, 240), 2) << "its end is its own";
  EXPECT_EQ(calls.Around(kThread, 250), 1);
  EXPECT_EQ(calls.Around(kThread, 350), 0) << "behind calls that are over";
  EXPECT_EQ(calls.Around(kThread, 900), 0);
  EXPECT_EQ(calls.Around(kThread, 901), -1);
  EXPECT_EQ(calls.Around(kThread, 230), 2) << "back again";
}

TEST(CallIndexTest, EachThreadHasItsOwn) {
  CallIndex calls;
  calls.Add(kOther, 100, 900, 0);
  calls.Add(kThread, 200, 300, 1);
  calls.Add(kOther, 250, 260, 2);
  calls.Finish();
  EXPECT_EQ(calls.Around(kThread, 255), 1);
  EXPECT_EQ(calls.Around(kOther, 255), 2);
  EXPECT_EQ(calls.Around(kThread, 500), -1) << "the other thread's call reaches so far, its own does not";
  EXPECT_EQ(calls.Around(9, 255), -1);
}

TEST(CallIndexTest, AMomentFarFromTheLastOne) {
  CallIndex calls;
  for (uint32_t i = 0; i < 1000; ++i) calls.Add(kThread, i * 10, i * 10 + 5, i);
  calls.Finish();
  EXPECT_EQ(calls.Around(kThread, 9993), 999);
  EXPECT_EQ(calls.Around(kThread, 3), 0);
  EXPECT_EQ(calls.Around(kThread, 5005), 500);
  EXPECT_EQ(calls.Around(kThread, 5007), -1);
}

TEST(CallIndexTest, Nothing) {
  CallIndex calls;
  calls.Finish();
  EXPECT_TRUE(calls.empty());
  EXPECT_EQ(calls.Around(kThread, 1), -1);
}

}  // namespace
}  // namespace profd::format
