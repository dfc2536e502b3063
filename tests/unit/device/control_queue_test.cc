#include "daemon/device/control_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>
#include <thread>
#include <vector>

#include "fakes.h"

namespace profd::device {
namespace {

constexpr uint64_t kMs = 1'000'000;
using Outcome = ControlQueue::Outcome;

class ControlQueueTest : public testing::Test {
 protected:
  // `patience` beyond the test's life unless spares are what is tested.
  std::unique_ptr<ControlQueue> Make(uint64_t patience_ns = 60'000 * kMs, uint32_t spares = 4) {
    return std::make_unique<ControlQueue>(
        "drv-test", ControlQueue::Options{patience_ns, spares, 60'000 * kMs}, timer_, ctl_.Post());
  }
  ControlQueue::Call Note(uint32_t lane, int what, uint64_t timeout_ns = 60'000 * kMs) {
    return {.lane = lane,
            .timeout_ns = timeout_ns,
            .must_run = false,
            .work =
                [this, what] {
                  const std::lock_guard lock(mutex_);
                  ran_.push_back(what);
                },
            .done =
                [this, what](Outcome outcome) {
                  done_.push_back(what);
                  outcomes_.push_back(outcome);
                },
            .late = {}};
  }
  std::vector<int> Ran() {
    const std::lock_guard lock(mutex_);
    return ran_;
  }
  bool RunUntilDone(size_t calls) {
    return ctl_.RunUntil([&] { return done_.size() == calls; });
  }

  FakeCtl ctl_;
  Timer timer_{ctl_};
  std::mutex mutex_;
  std::vector<int> ran_;
  std::vector<int> done_;
  std::vector<Outcome> outcomes_;
};

TEST_F(ControlQueueTest, CallsOfOneDeviceRunInOrder) {
  const auto queue = Make();
  std::vector<int> wanted;
  for (int i = 0; i < 50; ++i) {
    wanted.push_back(i);
    queue->Submit(Note(static_cast<uint32_t>(i % 3), i));
  }
  ASSERT_TRUE(RunUntilDone(50));
  EXPECT_EQ(Ran(), wanted);
  EXPECT_EQ(done_, wanted);
  EXPECT_EQ(std::set<Outcome>(outcomes_.begin(), outcomes_.end()), std::set{Outcome::kReturned});
}

TEST_F(ControlQueueTest, CallsBehindABlockedOneMoveToSpares) {
  Gate gate;
  gate.Close();
  const auto queue = Make(5 * kMs);
  ControlQueue::Call blocked = Note(1, 0);
  blocked.work = [&gate] { gate.Pass(); };
  queue->Submit(std::move(blocked));
  for (int i = 1; i <= 5; ++i) queue->Submit(Note(static_cast<uint32_t>(1 + i), i));
  ASSERT_TRUE(RunUntilDone(5));
  EXPECT_EQ(gate.waiting(), 1);
  gate.Open();
  ASSERT_TRUE(RunUntilDone(6));
  EXPECT_EQ(done_.back(), 0);
}

TEST_F(ControlQueueTest, CallsOfOneLaneStayInOrderWhenTheFirstBlocks) {
  Gate gate;
  gate.Close();
  const auto queue = Make(2 * kMs);
  ControlQueue::Call start = Note(7, 0);
  start.work = [&] {
    gate.Pass();
    const std::lock_guard lock(mutex_);
    ran_.push_back(0);
  };
  queue->Submit(std::move(start));
  queue->Submit(Note(7, 1));
  queue->Submit(Note(8, 2));
  ASSERT_TRUE(RunUntilDone(1));
  ctl_.RunFor(20 * kMs);
  EXPECT_EQ(Ran(), std::vector<int>{2});
  gate.Open();
  ASSERT_TRUE(RunUntilDone(3));
  EXPECT_EQ(Ran(), (std::vector<int>{2, 0, 1}));
}

TEST_F(ControlQueueTest, NoMoreThreadsThanSpares) {
  Gate gate;
  gate.Close();
  const auto queue = Make(kMs, 2);
  std::atomic<int> entered{0};
  for (int i = 0; i < 8; ++i) {
    ControlQueue::Call call = Note(static_cast<uint32_t>(i), i);
    call.work = [&] {
      ++entered;
      gate.Pass();
    };
    queue->Submit(std::move(call));
  }
  ASSERT_TRUE(ctl_.RunUntil([&] { return entered == 3; }));
  ctl_.RunFor(20 * kMs);
  EXPECT_EQ(entered, 3);
  gate.Open();
  ASSERT_TRUE(RunUntilDone(8));
}

TEST_F(ControlQueueTest, ACallThatHangsTimesOutAndItsEndIsReported) {
  Gate gate;
  gate.Close();
  const auto queue = Make();
  bool late = false;
  ControlQueue::Call call = Note(1, 0, 5 * kMs);
  call.must_run = true;
  call.work = [&gate] { gate.Pass(); };
  call.late = [&late] { late = true; };
  queue->Submit(std::move(call));
  ASSERT_TRUE(RunUntilDone(1));
  EXPECT_EQ(outcomes_[0], Outcome::kTimedOut);
  EXPECT_FALSE(late);
  gate.Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return late; }));
  EXPECT_EQ(done_.size(), 1U);
}

TEST_F(ControlQueueTest, ACallThatNeverBeganIsWithdrawnUnlessItMustRun) {
  Gate gate;
  gate.Close();
  const auto queue = Make();
  ControlQueue::Call blocked = Note(1, 0);
  blocked.work = [&gate] { gate.Pass(); };
  queue->Submit(std::move(blocked));
  queue->Submit(Note(2, 1, 5 * kMs));
  bool late = false;
  ControlQueue::Call stop = Note(3, 2, 6 * kMs);
  stop.must_run = true;
  stop.late = [&late] { late = true; };
  queue->Submit(std::move(stop));
  ASSERT_TRUE(RunUntilDone(2));
  EXPECT_EQ(done_, (std::vector<int>{1, 2}));
  EXPECT_EQ(outcomes_, (std::vector<Outcome>{Outcome::kNeverRan, Outcome::kTimedOut}));
  gate.Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return late && done_.size() == 3; }));
  EXPECT_EQ(Ran(), std::vector<int>{2});
}

TEST_F(ControlQueueTest, ACallIsNotLateWhileOthersReturnBeforeIt) {
  const auto queue = Make();
  for (int i = 0; i < 16; ++i) {
    ControlQueue::Call call = Note(static_cast<uint32_t>(i), i, 600 * kMs);
    call.must_run = true;
    // Each is far from late by itself, all of them together take far longer than one may.
    call.work = [] { std::this_thread::sleep_for(std::chrono::milliseconds(60)); };
    queue->Submit(std::move(call));
  }
  ASSERT_TRUE(RunUntilDone(16));
  EXPECT_EQ(std::set<Outcome>(outcomes_.begin(), outcomes_.end()), std::set{Outcome::kReturned});
}

// A driver that lets each of them wait is no sign that it is well.
TEST_F(ControlQueueTest, ACallIsLateWhereOthersReturnSlowly) {
  const auto queue = Make();
  for (int i = 0; i < 4; ++i) {
    ControlQueue::Call call = Note(static_cast<uint32_t>(i), i, 100 * kMs);
    call.must_run = true;
    // Long, but not late by itself.
    call.work = [] { std::this_thread::sleep_for(std::chrono::milliseconds(80)); };
    queue->Submit(std::move(call));
  }
  ASSERT_TRUE(RunUntilDone(4));
  EXPECT_EQ(outcomes_.back(), Outcome::kTimedOut);
}

TEST_F(ControlQueueTest, SomeCallsHaveMoreSparesAndLessPatience) {
  Gate gate;
  gate.Close();
  const auto queue = Make(60'000 * kMs, 1);
  std::atomic<int> entered{0};
  for (int i = 0; i < 4; ++i) {
    ControlQueue::Call call = Note(static_cast<uint32_t>(i), i);
    call.patience_ns = kMs;
    call.spares = 4;
    call.work = [&] {
      ++entered;
      gate.Pass();
    };
    queue->Submit(std::move(call));
  }
  EXPECT_TRUE(ctl_.RunUntil([&] { return entered == 4; }));
  gate.Open();
  ASSERT_TRUE(RunUntilDone(4));
}

TEST_F(ControlQueueTest, ACallIsLateFromItsBeginOn) {
  constexpr uint64_t kTimeout = 600 * kMs;
  Gate gate;
  gate.Close();
  const auto queue = Make();
  ControlQueue::Call first = Note(1, 0);
  // What the second waits for.
  first.work = [] { std::this_thread::sleep_for(std::chrono::milliseconds(200)); };
  queue->Submit(std::move(first));
  std::atomic<uint64_t> began_ns{0};
  ControlQueue::Call hangs = Note(2, 1, kTimeout);
  hangs.work = [&] {
    began_ns = base::MonotonicNs();
    gate.Pass();
  };
  bool late = false;
  hangs.late = [&late] { late = true; };
  queue->Submit(std::move(hangs));
  ASSERT_TRUE(RunUntilDone(2));
  EXPECT_EQ(outcomes_.back(), Outcome::kTimedOut);
  // Its clock began a moment before.
  EXPECT_GE(base::MonotonicNs(), began_ns + kTimeout - 100 * kMs);
  gate.Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return late; }));
}

TEST_F(ControlQueueTest, EndsWithACallThatHangs) {
  const auto gate = std::make_shared<Gate>();
  gate->Close();
  auto queue = Make(kMs);
  const auto returned = std::make_shared<std::atomic<bool>>(false);
  ControlQueue::Call call = Note(1, 0, 2 * kMs);
  call.must_run = true;
  call.work = [gate, returned] {
    gate->Pass();
    *returned = true;
  };
  call.late = [] { FAIL() << "called after the queue's end"; };
  queue->Submit(std::move(call));
  queue->Submit(Note(1, 1));
  ASSERT_TRUE(RunUntilDone(1));
  ASSERT_TRUE(ctl_.RunUntil([&] { return gate->waiting() == 1; }));
  queue.reset();
  gate->Open();
  ASSERT_TRUE(ctl_.RunUntil([&] { return returned->load(); }));
  ctl_.RunFor(5 * kMs);
  EXPECT_EQ(done_, std::vector<int>{0});
}

TEST_F(ControlQueueTest, AThreadThatEndedIsReplaced) {
  const ControlQueue::Options options{60'000 * kMs, 4, kMs};  // ends after 1 ms of idleness
  ControlQueue queue("drv-test", options, timer_, ctl_.Post());
  for (int i = 0; i < 20; ++i) {
    queue.Submit(Note(1, i));
    ASSERT_TRUE(RunUntilDone(static_cast<size_t>(i) + 1));
    ctl_.RunFor(i % 4 * kMs);
  }
}

TEST(TimerTest, AlarmsRunInOrderAndNotWhenCancelled) {
  FakeCtl ctl;
  std::vector<int> ran;
  {
    Timer timer(ctl);
    timer.After(8 * kMs, [&] { ran.push_back(3); });
    timer.After(2 * kMs, [&] { ran.push_back(1); });
    const Timer::Id cancelled = timer.After(4 * kMs, [&] { ran.push_back(2); });
    timer.Cancel(cancelled);
    ASSERT_TRUE(ctl.RunUntil([&] { return ran.size() == 2; }));
    EXPECT_EQ(ran, (std::vector<int>{1, 3}));
    timer.Cancel(cancelled);
    timer.After(kMs, [&] { ran.push_back(4); });
  }
  ctl.RunFor(5 * kMs);
  EXPECT_EQ(ran.size(), 2U);
}

}  // namespace
}  // namespace profd::device
