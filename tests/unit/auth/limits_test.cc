#include "daemon/auth/limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <vector>

namespace profd::auth {
namespace {

using base::Code;
using testing::HasSubstr;

const Caller kAda{.uid = 1000, .gid = 1000, .pid = 1, .user = "ada"};
const Caller kBob{.uid = 1001, .gid = 1001, .pid = 2, .user = "bob"};
const Caller kRoot{.uid = 0, .gid = 0, .pid = 3, .user = "root"};

config::Config::Limits Small() {
  config::Config::Limits limits;
  limits.requests_per_s = 1;
  limits.watches_per_user = 2;
  return limits;
}

TEST(TokenBucket, FillsWithTimeUpToTheMost) {
  base::TokenBucket bucket(10, 5);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(bucket.Take(1'000'000'000));
  EXPECT_FALSE(bucket.Take(1'000'000'000));
  EXPECT_FALSE(bucket.Take(1'050'000'000)) << "half a token";
  EXPECT_TRUE(bucket.Take(1'100'000'000));
  EXPECT_FALSE(bucket.Take(1'000'000'000)) << "a clock that went back gives nothing";
  EXPECT_FALSE(bucket.Take(100'000'000'000, 6)) << "never more than the most";
  EXPECT_TRUE(bucket.Take(100'000'000'000, 5));
  EXPECT_FALSE(bucket.IsFull(100'000'000'000));
  EXPECT_TRUE(bucket.IsFull(200'000'000'000));
}

TEST(Limits, AFloodOfOneUserIsRefusedAndOthersAreServed) {
  Limits limits(Small());
  int served = 0;
  base::Status last;
  for (int i = 0; i < 1000; ++i) {
    last = limits.TakeRequest(kAda, 1);
    served += last.ok() ? 1 : 0;
  }
  EXPECT_GE(served, 4);
  EXPECT_LT(served, 500);
  EXPECT_EQ(last.code(), Code::kResourceExhausted);
  EXPECT_THAT(last.message(), HasSubstr("ada"));
  EXPECT_TRUE(limits.TakeRequest(kBob, 1).ok());
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(limits.TakeRequest(kRoot, 5).ok());
}

TEST(Limits, AUserWatchesSoOftenAndNotMore) {
  auto limits = std::make_unique<Limits>(Small());
  const auto first = limits->TakeWatch(kAda);
  EXPECT_TRUE(first.ok());
  {
    const auto second = limits->TakeWatch(kAda);
    EXPECT_TRUE(second.ok());
    EXPECT_EQ(limits->TakeWatch(kAda).status().code(), Code::kResourceExhausted);
    EXPECT_TRUE(limits->TakeWatch(kBob).ok());
  }
  EXPECT_TRUE(limits->TakeWatch(kAda).ok());
  std::vector<Limits::Held> held;
  for (int i = 0; i < 100; ++i) held.push_back(*limits->TakeWatch(kRoot));
  limits.reset();  // what is held outlives it
}

TEST(Limits, HalfOfTheFetchesAreForOneUserAndAllForAnAdmin) {
  Limits limits(Small());
  std::vector<Limits::Held> held;
  for (int i = 0; i < 4; ++i) held.push_back(*limits.TakeFetch(kAda));
  EXPECT_EQ(limits.TakeFetch(kAda).status().code(), Code::kResourceExhausted);
  EXPECT_TRUE(limits.TakeFetch(kBob).ok());
  for (int i = 0; i < 4; ++i) held.push_back(*limits.TakeFetch(kRoot));
  EXPECT_EQ(limits.TakeFetch(kRoot).status().code(), Code::kResourceExhausted);
  EXPECT_THAT(limits.TakeFetch(kBob).status().message(), HasSubstr("8 sessions"));
  held.pop_back();
  EXPECT_TRUE(limits.TakeFetch(kBob).ok());
}

TEST(Limits, WhoDoesNotReadHasNoMoreAnswersAndOthersHave) {
  constexpr uint64_t kOne = 4 << 20;
  auto limits = std::make_unique<Limits>(Small());
  std::vector<Limits::Held> held;
  const auto fill = [&](const Caller& caller) {
    size_t answers = 0;
    for (; answers < 1000 && limits->CheckAnswer(caller).ok(); ++answers) {
      held.push_back(limits->KeepAnswer(caller, kOne));
    }
    return answers * kOne;
  };
  EXPECT_EQ(fill(kAda), Limits::kMostUnread);
  const base::Status full = limits->CheckAnswer(kAda);
  EXPECT_EQ(full.code(), Code::kResourceExhausted);
  EXPECT_THAT(full.message(), HasSubstr("has not read 64 MiB of answers: read the earlier answers first"));
  EXPECT_TRUE(limits->CheckAnswer(kBob).ok());
  EXPECT_TRUE(limits->CheckAnswer(kRoot).ok());
  held.pop_back();
  EXPECT_TRUE(limits->CheckAnswer(kAda).ok()) << "one was read";
  // Several do not read: what they have is bounded, and something is left for others.
  uint64_t all = Limits::kMostUnread - kOne;
  for (uid_t uid = 2000; uid < 2006; ++uid) all += fill({.uid = uid, .gid = uid, .pid = 4, .user = "eve"});
  EXPECT_LE(all, Limits::kMostUnreadOfAll);
  EXPECT_GT(fill(kBob), 0U);
  limits.reset();  // what is held outlives it
}

}  // namespace
}  // namespace profd::auth
