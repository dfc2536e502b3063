// prof_channel_poll (rule 6) and the end of it (rule 7).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <future>
#include <string>
#include <thread>

#include "sim/hal/channels/poll_queue.h"
#include "sim/scenario/clock.h"
#include "sim/scenario/producers/channel_ids.h"
#include "tests/unit/sim/sim_library.h"

namespace profd::sim {
namespace {

TEST(Poll, ArgumentsAndNothingStarted) {
  const SimLibrary sim("");
  std::vector<PollInfo> ready;
  const auto poll = sim.Call<int(PollInfo*, int, int)>("prof_channel_poll");
  PollInfo entry{};
  EXPECT_EQ(poll(nullptr, 1, 1), code::kError);
  EXPECT_EQ(poll(&entry, 0, 1), code::kError);
  EXPECT_EQ(poll(&entry, 161, 1), code::kError);
  EXPECT_EQ(sim.Poll(ready, 6, 1), code::kStoppedAlready);
}

TEST(Poll, ReportsAChannelOnceUntilItIsTaken) {
  const SimLibrary sim("");
  std::vector<PollInfo> ready;
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  ASSERT_EQ(sim.Poll(ready, 6, 1), 1);
  EXPECT_EQ(ready[0].device_id, 0U);
  EXPECT_EQ(ready[0].channel_id, 1U);
  SleepMs(60);  // several samples, one report
  EXPECT_EQ(sim.Poll(ready, 6, 1), 1);
  sim.StopDraining(0, 1);
}

TEST(Poll, TakesSeveralPerTokenAndAnswersZeroForTheRest) {
  const SimLibrary sim("");
  std::vector<PollInfo> ready;
  for (const uint32_t id : {3U, 4U, 9U}) ASSERT_EQ(sim.Start(0, id, 1000), 0);
  sim.ReadAtLeast(0, 9, 1);  // the last of the three to get its data
  SleepMs(50);
  EXPECT_EQ(sim.Poll(ready, 2, 1), 2);
  EXPECT_EQ(sim.Poll(ready, 2, 1), 1);
  EXPECT_EQ(sim.Poll(ready, 2, 1), 0) << "a token without an entry";
  for (const uint32_t id : {3U, 4U, 9U}) sim.StopDraining(0, id);
}

TEST(Poll, WaitsForWholeSecondsAndKnowsFive) {
  const SimLibrary sim("");
  ASSERT_EQ(sim.Start(0, channel::kStarsProfile, 0, std::string(56, '\0')), 0) << "silent";
  const auto poll_for_ms = [&](int timeout_s) {
    std::vector<PollInfo> ready;
    const uint64_t before = RawNs();
    EXPECT_EQ(sim.Poll(ready, 6, timeout_s), 0);
    return (RawNs() - before) / 1'000'000;
  };
  auto one = std::async(std::launch::async, poll_for_ms, 1);
  auto none = std::async(std::launch::async, poll_for_ms, 0);
  auto many = std::async(std::launch::async, poll_for_ms, 6);
  EXPECT_GE(one.get(), 950U);
  EXPECT_GE(none.get(), 4950U);
  EXPECT_GE(many.get(), 4950U);
  sim.StopDraining(0, channel::kStarsProfile);
}

TEST(Poll, StaleEntryOfAStoppedChannel) {
  const SimLibrary sim("");
  std::vector<PollInfo> ready;
  char byte;
  ASSERT_EQ(sim.Start(0, 3, 10'000), 0);  // keeps poll alive
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  SleepMs(40);
  sim.StopDraining(0, 1);
  ASSERT_GE(sim.Poll(ready, 6, 1), 1);
  EXPECT_EQ(ready[0].channel_id, 1U);
  EXPECT_EQ(sim.Read(0, 1, &byte, 1), code::kStoppedAlready);
  sim.StopDraining(0, 3);
}

bool Sleeps(pid_t thread) {
  std::string text;
  std::getline(std::ifstream("/proc/self/task/" + std::to_string(thread) + "/stat"), text);
  const size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.substr(name_end, 3) == ") S";
}

TEST(Poll, LastStopWakesThePoller) {
  const SimLibrary sim("");
  ASSERT_EQ(sim.Start(0, 3, 10'000), 0);
  int first = -99, second = -99;
  const uint64_t before = RawNs();
  std::atomic<pid_t> thread{0};
  std::thread poller([&] {
    std::vector<PollInfo> ready;
    thread = ::gettid();
    first = sim.Poll(ready, 6, 5);
    second = sim.Poll(ready, 6, 5);
  });
  Until([&] { return thread != 0 && Sleeps(thread); }, true);
  EXPECT_EQ(sim.Stop(0, 3), 0);
  poller.join();
  EXPECT_EQ(first, 0);
  EXPECT_EQ(second, code::kStoppedAlready);
  EXPECT_LT(RawNs() - before, 5'000'000'000U) << "it was the stop that woke it, not the time-out";
}

TEST(Poll, StopQueuesAnUnreadChannelForItsDrain) {
  const SimLibrary sim("");
  std::vector<PollInfo> ready;
  ASSERT_EQ(sim.Start(0, 1, 10, HbmPayload()), 0);
  std::thread stopper([&] {
    SleepMs(50);
    EXPECT_EQ(sim.Stop(0, 1), 0);
  });
  std::string bytes;
  while (sim.Poll(ready, 6, 1) != code::kStoppedAlready) {
    for (const PollInfo& entry : ready) bytes += sim.Drain(entry.device_id, entry.channel_id);
  }
  stopper.join();
  EXPECT_GT(bytes.size(), 0U);
}

TEST(PollQueue, OneEntryTooManyAndItLooksEmpty) {
  PollQueue queue;
  PollInfo out[160];
  for (uint32_t i = 0; i < 511; ++i) queue.Push({.device_id = 0, .channel_id = i});
  EXPECT_EQ(queue.Take(out, 160), 160);
  for (uint32_t i = 0; i < 161; ++i) queue.Push({.device_id = 0, .channel_id = i});
  EXPECT_EQ(queue.Take(out, 160), 0);
}

}  // namespace
}  // namespace profd::sim
