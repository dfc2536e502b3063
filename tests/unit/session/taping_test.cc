// One listener at a time, an admin; who takes nothing for a minute has gone.
#include "daemon/session/node/taping.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "tests/unit/device/fakes.h"
#include "tests/unit/support/fake_timers.h"

namespace profd::session {
namespace {

using base::Code;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using What = TapeOrder::What;

// Remembers the tape that it has.
class TapedDriver : public device::FakeDriver {
 public:
  void SetTape(const std::shared_ptr<driver::Tape>& tape) override { has = tape; }
  std::shared_ptr<driver::Tape> has;
};

class TapingTest : public testing::Test {
 protected:
  base::Result<Taped> Do(What what, const auth::Caller& caller, std::vector<uint32_t> devices = {}) {
    return taping_.Do(caller, {.what = what, .devices = std::move(devices)}, driver_);
  }
  void Hear() { driver_->has->Add({.device = 0, .channel = 1, .call = "prof_stop"}); }

  const auth::Caller root_{.uid = 0, .user = "root"};
  const auth::Caller admin_{.uid = 7, .user = "ada", .standing = auth::Standing::kAdmin};
  const auth::Caller member_{.uid = 8, .user = "eve", .standing = auth::Standing::kMember};
  std::shared_ptr<TapedDriver> driver_ = std::make_shared<TapedDriver>();
  FakeTimers time_;
  Taping taping_{time_};
};

TEST_F(TapingTest, OnlyAnAdmin) {
  EXPECT_EQ(Do(What::kBegin, member_, {0}).status().code(), Code::kPermissionDenied);
  EXPECT_EQ(driver_->has, nullptr);
  EXPECT_TRUE(Do(What::kBegin, admin_, {0}).ok());
}

TEST_F(TapingTest, BeginsTakesAndEnds) {
  ASSERT_TRUE(Do(What::kBegin, root_, {0}).ok());
  Hear();
  EXPECT_THAT(Do(What::kTake, root_)->calls, SizeIs(1));
  EXPECT_THAT(Do(What::kTake, root_)->calls, IsEmpty());
  Hear();
  EXPECT_THAT(Do(What::kEnd, root_)->calls, SizeIs(1)) << "what there is is still taken";
  EXPECT_EQ(driver_->has, nullptr) << "nothing more is heard";
  EXPECT_THAT(Do(What::kEnd, root_)->calls, IsEmpty());
  EXPECT_EQ(Do(What::kTake, root_).status().code(), Code::kFailedPrecondition);
}

TEST_F(TapingTest, OneAtATimeAndNobodyElsesTape) {
  ASSERT_TRUE(Do(What::kBegin, root_, {0}).ok());
  const base::Status other = Do(What::kBegin, admin_, {0}).status();
  EXPECT_EQ(other.code(), Code::kAborted);
  EXPECT_THAT(other.message(), HasSubstr("root"));
  EXPECT_EQ(Do(What::kTake, admin_).status().code(), Code::kFailedPrecondition);
  EXPECT_EQ(Do(What::kEnd, admin_).status().code(), Code::kFailedPrecondition);
  EXPECT_NE(driver_->has, nullptr);
}

TEST_F(TapingTest, WhoTakesNothingForAMinuteHasGone) {
  ASSERT_TRUE(Do(What::kBegin, root_, {0}).ok());
  time_.Advance(Taping::kForgetNs / 2);
  ASSERT_TRUE(Do(What::kTake, root_).ok());
  time_.Advance(Taping::kForgetNs * 2 / 3);
  EXPECT_NE(driver_->has, nullptr) << "from the last time on";
  time_.Advance(Taping::kForgetNs);
  EXPECT_EQ(driver_->has, nullptr);
  EXPECT_TRUE(Do(What::kBegin, admin_, {0}).ok());
}

TEST_F(TapingTest, AsksForWhatThereIs) {
  EXPECT_EQ(Do(What::kBegin, root_).status().code(), Code::kInvalidArgument) << "no device";
  EXPECT_EQ(Do(What::kBegin, root_, std::vector<uint32_t>(65, 0)).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(taping_.Do(root_, {.what = What::kBegin, .devices = {0}}, nullptr).status().code(),
            Code::kFailedPrecondition);
}

TEST_F(TapingTest, HoldsNoMoreThanThereMayBe) {
  ASSERT_TRUE(
      taping_.Do(root_, {.what = What::kBegin, .devices = {0}, .most_bytes = UINT64_MAX}, driver_).ok());
  for (uint32_t channel = 1; channel < 40; ++channel) {
    driver::TapedCall call{.device = 0, .channel = channel, .call = "prof_channel_read"};
    call.answered.resize(4U << 20);
    driver_->has->Add(std::move(call));
  }
  uint64_t bytes = 0;
  for (;;) {
    const base::Result<Taped> taped = Do(What::kTake, root_);
    ASSERT_TRUE(taped.ok());
    if (taped->calls.empty()) break;
    for (const driver::TapedCall& call : taped->calls) bytes += call.answered.size();
    EXPECT_GT(taped->left_out.calls, 20U);
  }
  EXPECT_LE(bytes, Taping::kMostBytes);
}

}  // namespace
}  // namespace profd::session
