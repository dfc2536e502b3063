// What processes record of themselves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "daemon/session/plan/plan.h"
#include "format/preset.h"
#include "tests/unit/session/plan_cases.h"

namespace profd::session {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

AgentFacts Agent() {
  AgentFacts agent;
  for (const format::Kind kind : format::kAgentKindList) {
    const bool mspti = kind == format::Kind::kAgentKernel;
    agent.capabilities.push_back({std::string(NameOf(kind)), !mspti, mspti ? "libmspti.so is missing" : ""});
  }
  return agent;
}

TEST(Plan, AProcessWithAnAgentRecordsWhatItCan) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  SessionSpec spec;
  spec.pids = {42, 43};
  const base::Result<Plan> plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  ASSERT_EQ(plan->agents.size(), 1U);
  const AgentStart& start = plan->agents[0];
  EXPECT_EQ(start.pid, 42);
  EXPECT_EQ(start.kinds.size(), format::kAgentKindList.size() - 1);
  const auto kernel = static_cast<size_t>(format::AgentKind::kKernel);
  EXPECT_EQ(start.kind_index[kernel], kNoKind);
  for (size_t i = 0; i < start.kind_index.size(); ++i) {
    if (i == kernel) continue;
    EXPECT_EQ(plan->kinds.at(start.kind_index[i]).kind, format::kAgentKindList.begin()[i]);
    EXPECT_EQ(plan->kinds.at(start.kind_index[i]).unit, "pid:42");
    EXPECT_EQ(plan->kinds.at(start.kind_index[i]).verdict, Verdict::kStarted);
  }
  size_t missing = 0;
  for (const KindState& kind : plan->kinds) {
    if (kind.kind == Kind::kAgentKernel && kind.unit == "pid:42") {
      EXPECT_EQ(kind.reason, "libmspti.so is missing");
    }
    if (kind.unit != "pid:43" || !IsAgentKind(kind.kind)) continue;
    ++missing;
    EXPECT_EQ(kind.verdict, Verdict::kSkipped);
    EXPECT_THAT(kind.reason, HasSubstr("profctl run"));
  }
  EXPECT_EQ(missing, format::kAgentKindList.size());
}

TEST(Plan, CallsAreOfTheLevelsThatAreNamed) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  SessionSpec spec;
  spec.pids = {42};
  const auto levels = [&](const std::string& mode) {
    spec.kinds = {{Kind::kAgentApi, mode, 0}, {Kind::kAgentMark, "", 0}};
    const base::Result<Plan> plan = MakePlan(spec, facts);
    return plan.ok() ? std::to_string(plan->agents.at(0).call_levels) : plan.status().message();
  };
  EXPECT_EQ(levels(""), "0");
  EXPECT_EQ(levels("acl"), "1");
  EXPECT_EQ(levels("runtime+node"), "6");
  for (const char* wrong : {"acl+", "+acl", "hccl", "acl node"})
    EXPECT_THAT(levels(wrong), HasSubstr("agent-api knows the modes acl, node and runtime"));
  spec.kinds = {{Kind::kAgentMark, "acl", 0}};
  EXPECT_THAT(MakePlan(spec, facts).status().message(), HasSubstr("without a mode"));
}

// Both need the same channels of the driver, and the agent's records say more.
TEST(Plan, TasksAreLeftToAnAgentThatRecordsKernels) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  for (agent::Capability& capability : facts.processes[0].agent->capabilities) capability.available = true;
  SessionSpec spec;
  spec.pids = {42};
  spec.devices = {0, 1};
  const auto verdicts = [&] {
    const base::Result<Plan> plan = MakePlan(spec, facts);
    EXPECT_TRUE(plan.ok()) << plan.status().message();
    std::map<std::string, std::string> found;
    for (const KindState& kind : plan->kinds) {
      if (kind.kind == Kind::kTask) found[kind.unit] = kind.verdict == Verdict::kStarted ? "" : kind.reason;
    }
    for (const ChannelStart& start : plan->channels) {
      EXPECT_EQ(found.at("device:" + std::to_string(start.device)), "") << start.channel;
    }
    return found;
  };
  spec.kinds = {{Kind::kTask, "", 0}, {Kind::kAgentKernel, "", 0}};
  auto found = verdicts();
  EXPECT_EQ(found["device:0"], "");
  EXPECT_EQ(found["device:1"], "the agent of process 42 records agent-kernel, which needs the same channels");
  spec.kinds = {{Kind::kTask, "", 0}, {Kind::kAgentRange, "", 0}};
  found = verdicts();
  EXPECT_EQ(found["device:1"], "");
  // Which devices it uses is not known: each kernel would perhaps be there twice.
  facts.processes[0].open_devices.clear();
  spec.kinds = {{Kind::kTask, "", 0}, {Kind::kAgentKernel, "", 0}};
  found = verdicts();
  EXPECT_NE(found["device:0"], "");
  EXPECT_NE(found["device:1"], "");
}

// Where it does, they are if a session asks for it and nobody else in the process receives them.
TEST(Plan, ReportsAreRecordedWhereTheyAreAskedFor) {
  NodeFacts facts = TwoDevices(Chip::k910B);
  facts.processes[0].agent = Agent();
  std::vector<agent::Capability>& said = facts.processes[0].agent->capabilities;
  for (agent::Capability& capability : said) capability = {capability.kind, true, ""};
  said.push_back({"reports", true, ""});
  SessionSpec spec;
  spec.pids = {42};
  spec.devices = {0, 1};
  for (const Kind kind : {Kind::kTask, Kind::kAgentKernel, Kind::kAgentApi, Kind::kAgentMemory})
    spec.kinds.push_back({kind, "", 0});
  base::Result<Plan> plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->agents.at(0).reports, agent::Reported::kNothing);
  EXPECT_EQ(Find(*plan, "task", "device:1").verdict, Verdict::kSkipped);

  spec.kinds[1].mode = "attributes";
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->agents.at(0).reports, agent::Reported::kAttributes);
  EXPECT_EQ(Find(*plan, "task", "device:1").verdict, Verdict::kStarted) << "no kernel stands twice";
  EXPECT_EQ(Find(*plan, "agent-memory", "pid:42").verdict, Verdict::kStarted);

  said.back() = {"reports", false, "somebody else receives them"};
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->agents.at(0).reports, agent::Reported::kNothing);
  EXPECT_EQ(Find(*plan, "task", "device:1").verdict, Verdict::kSkipped);
  EXPECT_EQ(Find(*plan, "agent-kernel", "pid:42").verdict, Verdict::kStarted);
  EXPECT_THAT(Find(*plan, "agent-kernel", "pid:42").reason,
              AllOf(HasSubstr("from MSPTI, without parts of collectives"), HasSubstr("somebody else")));

  said.back() = {"reports", true, ""};
  spec.kinds[1].mode = "all";
  EXPECT_THAT(MakePlan(spec, facts).status().message(), HasSubstr("modes tasks, operators and attributes"));
  spec.kinds[1].mode = "tasks";
  spec.kinds.push_back({Kind::kAgentComm, "parts", 0});
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->agents.at(0).reports, agent::Reported::kOperators);

  spec.kinds.pop_back();
  spec.kinds.back() = {Kind::kAgentMemory, "operators", 0};
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->agents.at(0).reports, agent::Reported::kTasks);
  spec.kinds[1].mode = "";
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->agents.at(0).reports, agent::Reported::kOperators)
      << "kernels have theirs unless told otherwise";
  spec.kinds.back().mode = "all";
  EXPECT_THAT(MakePlan(spec, facts).status().message(), HasSubstr("agent-memory knows the mode operators"));
  spec.kinds.back().mode = "";
  spec.kinds[1].mode = "attributes";
  facts.processes[0].agent.reset();
  facts.processes[0].agent_expected = true;
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(plan->agents.at(0).reports, agent::Reported::kAttributes);
  for (const ChannelStart& channel : plan->channels) EXPECT_TRUE(channel.gives_way.empty());
}

// Where MSPTI does not know the chips its kinds are what CANN reports, and the task log stays.
TEST(Plan, ReportsStandForMsptiOnItsOtherChips) {
  for (const Chip chip : {Chip::k310, Chip::k910, Chip::k310P, Chip::k910_96}) {
    NodeFacts facts = TwoDevices(chip);
    facts.processes[0].agent = Agent();  // without MSPTI's library
    std::vector<agent::Capability>& said = facts.processes[0].agent->capabilities;
    SessionSpec spec;
    spec.pids = {42};
    spec.devices = {0, 1};
    spec.kinds = {{Kind::kTask, "", 0}, {Kind::kAgentRange, "", 0}};
    for (const Kind kind : {Kind::kAgentKernel, Kind::kAgentComm, Kind::kAgentApi, Kind::kAgentMemory})
      spec.kinds.push_back({kind, "", 0});
    base::Result<Plan> plan = MakePlan(spec, facts);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_THAT(Find(*plan, "agent-kernel", "pid:42").reason, HasSubstr("older than what stands for it"));
    EXPECT_THAT(plan->agents.at(0).kinds, ElementsAre(Kind::kAgentRange));

    said.push_back({"reports", true, ""});
    plan = MakePlan(spec, facts);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(plan->agents.at(0).reports, agent::Reported::kOperators);
    EXPECT_EQ(Find(*plan, "task", "device:1").verdict, Verdict::kStarted);
    EXPECT_EQ(Find(*plan, "agent-kernel", "pid:42").verdict, Verdict::kStarted);
    EXPECT_EQ(Find(*plan, "agent-memory", "pid:42").verdict, Verdict::kStarted);

    said.back() = {"reports", true, "CANN is not loaded yet", true};
    plan = MakePlan(spec, facts);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(Find(*plan, "agent-api", "pid:42").verdict, Verdict::kPending);
    EXPECT_FALSE(plan->agents.at(0).announce);
    for (const ChannelStart& channel : plan->channels) EXPECT_TRUE(channel.gives_way.empty());

    said.back() = {"reports", false, "somebody else receives them"};
    plan = MakePlan(spec, facts);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_EQ(Find(*plan, "agent-comm", "pid:42").reason, "somebody else receives them");
    // One that is not there yet gets the same as one that is.
    facts.processes[0].agent.reset();
    facts.processes[0].agent_expected = true;
    plan = MakePlan(spec, facts);
    ASSERT_TRUE(plan.ok()) << plan.status().message();
    EXPECT_THAT(plan->agents.at(0).kinds, ElementsAre(Kind::kAgentRange, Kind::kAgentKernel, Kind::kAgentComm,
                                                      Kind::kAgentApi, Kind::kAgentMemory));
  }
}

// Until it is known whether there will be any kernels.
TEST(Plan, TasksGiveWayWhenCannComes) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  for (agent::Capability& capability : facts.processes[0].agent->capabilities) {
    capability.available = true;
    if (capability.kind == "agent-kernel") {
      capability.later = true;
      capability.reason = "CANN is not loaded yet";
    }
  }
  SessionSpec spec;
  spec.pids = {42};
  spec.devices = {0, 1};
  spec.kinds = {{Kind::kTask, "", 0}, {Kind::kAgentKernel, "", 0}};
  base::Result<Plan> plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(Find(*plan, "task", "device:1").verdict, Verdict::kStarted);
  EXPECT_EQ(Find(*plan, "agent-kernel", "pid:42").verdict, Verdict::kPending);
  EXPECT_EQ(Find(*plan, "agent-kernel", "pid:42").reason, "CANN is not loaded yet");
  EXPECT_TRUE(plan->agents.at(0).announce);
  for (const ChannelStart& start : plan->channels)  // it has device 1 open
    EXPECT_EQ(start.gives_way, start.device == 1 ? std::vector<pid_t>{42} : std::vector<pid_t>{});
  // A channel that another kind reads, too, stays.
  spec.kinds = {{Kind::kAgentKernel, "", 0}, {Kind::kAgentMark, "", 0}};
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok());
  EXPECT_FALSE(plan->agents.at(0).announce);
}

TEST(Plan, AnAgentThatHasNotRegisteredYetIsWaitedFor) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent_expected = true;
  SessionSpec spec;
  spec.pids = {42};
  spec.kinds = {{Kind::kAgentRange, "", 0}};
  const base::Result<Plan> plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok()) << plan.status().message();
  EXPECT_EQ(Find(*plan, "agent-range", "pid:42").verdict, Verdict::kPending);
  EXPECT_EQ(plan->agents.size(), 1U);
}

TEST(Plan, AnAgentThatIsTakenOrOfNoUseIsSkippedSayingSo) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  facts.processes[0].agent->holder = "session 1234 of bob";
  SessionSpec spec;
  spec.pids = {42};
  spec.kinds = {{Kind::kAgentRange, "", 0}, {Kind::kHostCpu, "", 0}};
  base::Result<Plan> plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok());
  EXPECT_TRUE(plan->agents.empty());
  EXPECT_THAT(plan->kinds[0].reason, HasSubstr("session 1234 of bob"));
  facts.processes[0].agent->holder.clear();
  facts.processes[0].agent->usable = {base::Code::kFailedPrecondition, "speaks protocol 9"};
  plan = MakePlan(spec, facts);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->kinds[0].reason, "speaks protocol 9");
}

TEST(Plan, AgentKindsTakeNoRateAndNeedAProcess) {
  NodeFacts facts = TwoDevices();
  facts.processes[0].agent = Agent();
  SessionSpec spec;
  spec.kinds = {{Kind::kAgentRange, "", 0}};
  EXPECT_EQ(MakePlan(spec, facts).status().code(), base::Code::kInvalidArgument);
  spec.pids = {42};
  spec.kinds = {{Kind::kAgentRange, "", 50}};
  EXPECT_EQ(MakePlan(spec, facts).status().code(), base::Code::kInvalidArgument);
  spec.kinds = {{Kind::kAgentRange, "write", 0}};
  EXPECT_EQ(MakePlan(spec, facts).status().code(), base::Code::kInvalidArgument);
  spec.kinds = {{Kind::kHostCpu, "", 0}};
  spec.steps.active = 3;
  EXPECT_EQ(MakePlan(spec, facts).status().code(), base::Code::kFailedPrecondition);
}

}  // namespace
}  // namespace profd::session
