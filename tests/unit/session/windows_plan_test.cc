#include <gtest/gtest.h>

#include <vector>

#include "daemon/auth/policy.h"
#include "daemon/session/plan/selection.h"
#include "daemon/session/plan/windows.h"

namespace profd::session {
namespace {

constexpr pid_t kRank = 100, kChild = 101, kOther = 102;
constexpr uid_t kUser = 1000;

fabric::Client ClientOf(pid_t pid, fabric::Family family, uid_t uid = kUser) {
  fabric::Client client;
  client.sender.pid = pid;
  client.sender.uid = uid;
  client.family = family;
  return client;
}
pid_t ParentOf(pid_t pid) { return pid == kChild ? kRank : 1; }
std::optional<fabric::Client> Polls(const std::vector<fabric::Client>& clients, pid_t pid) {
  return PollsFor(clients, pid, kUser, ParentOf);
}
SessionSpec Steps(uint64_t active) {
  SessionSpec spec;
  spec.steps.active = active;
  return spec;
}

TEST(WindowsPlan, WhoSaysWhenItEndsAndNamesNoKindsWantsThem) {
  SessionSpec spec;
  EXPECT_FALSE(WantsWindows(spec));
  spec.duration_ns = 1;
  EXPECT_TRUE(WantsWindows(spec));
  spec.preset = "host";
  EXPECT_FALSE(WantsWindows(spec));
  spec.steps.active = 1;
  EXPECT_TRUE(WantsWindows(spec));
  SessionSpec memory;
  memory.duration_ns = 1;
  memory.flight_recorder = true;
  EXPECT_FALSE(WantsWindows(memory));
}

TEST(WindowsPlan, AMonitorPollsForTheRankThatForkedIt) {
  const std::vector clients{ClientOf(kRank, fabric::Family::kKineto),
                            ClientOf(kChild, fabric::Family::kMonitor)};
  EXPECT_EQ(Polls(clients, kRank)->sender.pid, kChild);
  EXPECT_EQ(Polls(clients, kChild)->sender.pid, kChild);
  EXPECT_FALSE(Polls(clients, kOther));
  EXPECT_EQ(Polls({ClientOf(kRank, fabric::Family::kKineto)}, kRank)->sender.pid, kRank);
  EXPECT_FALSE(Polls({ClientOf(kChild, fabric::Family::kKineto)}, kRank)) << "a child's own affair";
  EXPECT_FALSE(Polls({ClientOf(kRank, fabric::Family::kKineto, kUser + 1)}, kRank)) << "somebody else's";
}

TEST(WindowsPlan, TakesStepsAndTimes) {
  SessionSpec spec = Steps(3);
  spec.steps.warmup = 1;
  spec.steps.from_step = 40;
  const auto steps = PlanWindow(spec, kRank, ClientOf(kRank, fabric::Family::kMonitor));
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  EXPECT_EQ(steps->window.steps, 3U);
  EXPECT_EQ(steps->window.warmup_steps, 1U);
  EXPECT_EQ(steps->window.first_step, 40U);
  EXPECT_NE(ShownWindow(*steps).text.find("3 steps from step 40 on"), std::string::npos)
      << ShownWindow(*steps).text;
  SessionSpec time;
  time.duration_ns = 1'500'000'000;
  const auto timed = PlanWindow(time, kRank, ClientOf(kRank, fabric::Family::kKineto));
  ASSERT_TRUE(timed.ok());
  EXPECT_EQ(timed->window.duration_ms, 1500U);
  EXPECT_NE(ShownWindow(*timed).text.find("within 5 s, to record 1.5 s"), std::string::npos)
      << ShownWindow(*timed).text;
}

TEST(WindowsPlan, WhatTheDoorCannotIsRefusedByName) {
  const auto why = [](const SessionSpec& spec, const fabric::Client& client) {
    const auto window = PlanWindow(spec, kRank, client);
    EXPECT_FALSE(window.ok());
    return window.status().message();
  };
  const fabric::Client monitor = ClientOf(kRank, fabric::Family::kMonitor);
  SessionSpec spec = Steps(1);
  spec.steps.repeat = 2;
  EXPECT_NE(why(spec, monitor).find("--steps repeat"), std::string::npos);
  spec = Steps(1);
  spec.steps.wait = 2;
  EXPECT_NE(why(spec, monitor).find("wait"), std::string::npos);
  spec = Steps(1);
  spec.agent_domains.names = {"a"};
  EXPECT_NE(why(spec, monitor).find("--agent-domains"), std::string::npos);
  SessionSpec time;
  time.duration_ns = 1'000'000'000;
  EXPECT_NE(why(time, monitor).find("--duration"), std::string::npos);
  fabric::Client mindspore = monitor;
  mindspore.quick_polls = fabric::Client::kQuickPolls;
  EXPECT_NE(why(Steps(1), mindspore).find("--step N"), std::string::npos);
  fabric::Client held = monitor;
  held.order_of = "session 1 of bob";
  EXPECT_NE(why(Steps(1), held).find("session 1 of bob"), std::string::npos);
}

TEST(WindowsPlan, LabelsChooseAmongThoseThatTheCallerMayRecord) {
  std::vector clients{ClientOf(1, fabric::Family::kMonitor), ClientOf(2, fabric::Family::kMonitor),
                      ClientOf(3, fabric::Family::kMonitor, kUser + 1)};
  for (fabric::Client& client : clients) {
    client.rank = client.sender.pid;
    client.job = 4711;
  }
  const auth::Caller caller{.uid = kUser, .user = "ada"};
  SessionSpec spec = Steps(1);
  EXPECT_TRUE(SelectPolling(clients, caller, spec).empty()) << "nobody is meant";
  spec.agent_labels = {{"job_id", "4711"}, {"rank", "2-3"}};
  EXPECT_EQ(SelectPolling(clients, caller, spec), std::vector<pid_t>{2});
  spec.agent_labels["rank"] = "4";
  EXPECT_TRUE(SelectPolling(clients, caller, spec).empty());
}

}  // namespace
}  // namespace profd::session
