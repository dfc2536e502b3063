#include "daemon/base/aside.h"

#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <memory>

namespace profd::base {
namespace {

constexpr uid_t kHanging = 1000, kOther = 1001;

class AsideTest : public testing::Test {
 protected:
  // Work that waits until the test lets it go, as for a file system that does not answer.
  Aside::Work Hangs() {
    return [this, go = go_]() -> std::function<void()> {
      ++started_;
      go.wait();
      return [this] { OneMore(); };
    };
  }
  void OneMore() {
    if (++answered_ == 1) on_first_();
    if (answered_ == wanted_) ctl_.Stop();
  }
  Aside::Work Answers() {
    return [this]() -> std::function<void()> { return [this] { OneMore(); }; };
  }

  Executor ctl_;
  Aside aside_{ctl_, uint64_t{3600} * 1'000'000'000};
  std::promise<void> let_go_;
  const std::shared_future<void> go_ = let_go_.get_future().share();
  std::atomic<int> started_{0};
  std::function<void()> on_first_ = [] {};
  int answered_ = 0, wanted_ = 0;
};

TEST_F(AsideTest, WhoHangsKeepsNobodyElseFromWorking) {
  constexpr int kMany = 68;  // as much as a user can have under way
  for (int i = 0; i < kMany; ++i) {
    EXPECT_FALSE(aside_.IsStuck(kHanging)) << i;
    aside_.RunFor(kHanging, Hangs(), [](const Status&) { FAIL(); });
  }
  EXPECT_TRUE(aside_.IsStuck(kHanging));
  EXPECT_FALSE(aside_.IsStuck(kOther));
  Status too_many;
  aside_.RunFor(
      kHanging, [] { return [] { FAIL(); }; }, [&](const Status& status) { too_many = status; });
  aside_.RunFor(kOther, Answers(), [](const Status&) { FAIL(); });
  on_first_ = [&] {
    EXPECT_EQ(too_many.code(), Code::kResourceExhausted);
    EXPECT_LE(started_, 4);
    let_go_.set_value();  // when the files answer again everything is done, in turns
  };
  wanted_ = 1 + kMany;
  ctl_.Run();
  EXPECT_EQ(answered_, 1 + kMany);
  EXPECT_FALSE(aside_.IsStuck(kHanging));
}

TEST_F(AsideTest, WhatTakesTooLongIsGivenUpOnce) {
  Aside hasty(ctl_, 1);
  int given_up = 0;
  wanted_ = 1;
  hasty.RunFor(kHanging, Hangs(), [&](const Status& status) {
    EXPECT_EQ(status.code(), Code::kDeadlineExceeded);
    ++given_up;
    // What it answers after all is dropped: the next answer is the next one's.
    let_go_.set_value();
    aside_.RunFor(kHanging, Answers(), [](const Status&) { FAIL(); });
  });
  ctl_.Run();
  EXPECT_EQ(answered_, 1);
  EXPECT_EQ(given_up, 1);
}

}  // namespace
}  // namespace profd::base
