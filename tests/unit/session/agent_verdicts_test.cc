// What a kind is said to be, out of what the recordings of a process, its later programs and its children
// say.
#include "daemon/session/life/recordings/agent_verdicts.h"

#include <gtest/gtest.h>

namespace profd::session {
namespace {

using format::Kind;

std::shared_ptr<AgentOutcome> Said(std::vector<agent::Missing> missing, bool over = false) {
  auto outcome = std::make_shared<AgentOutcome>();
  outcome->missing = std::move(missing);
  outcome->over = over;
  outcome->answered = true;
  return outcome;
}
std::shared_ptr<AgentOutcome> Failed(std::string why, std::string awaited = "", bool over = false) {
  auto outcome = std::make_shared<AgentOutcome>();
  outcome->status = {base::Code::kUnavailable, std::move(why)};
  outcome->awaited = std::move(awaited);
  outcome->over = over;
  outcome->answered = true;
  return outcome;
}
std::string Judged(Kind kind, const AgentOutcomes& outcomes) {
  const AgentVerdict verdict = JudgeKind(kind, outcomes);
  return std::string(VerdictName(verdict.verdict)) + ": " + verdict.reason;
}

std::vector<agent::Missing> OfMspti(const std::string& why, bool later = false) {
  std::vector<agent::Missing> missing;
  for (const Kind kind : {Kind::kAgentKernel, Kind::kAgentComm, Kind::kAgentApi, Kind::kAgentMemory})
    missing.push_back({kind, why, later});
  return missing;
}
const std::vector<agent::Missing> kNotYet = OfMspti("CANN is not loaded yet", true), kHeld = OfMspti("held"),
                                  kNoPreload = {{Kind::kAgentMemory, "needs a preload"}}, kNothing;

TEST(AgentVerdicts, OneProcess) {
  EXPECT_EQ(Judged(Kind::kAgentRange, {Said(kNothing)}), "started: ");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kHeld)}), "skipped: held");
  EXPECT_EQ(Judged(Kind::kAgentRange, {Said(kHeld)}), "started: ");
  EXPECT_EQ(Judged(Kind::kAgentMemory, {Said(kNoPreload)}), "skipped: needs a preload");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kNoPreload)}), "started: ");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Failed("it went away")}), "failed: it went away");
}

TEST(AgentVerdicts, AProcessThatEndedMeanwhileIsNoFault) {
  const auto ended = Failed("process 7 went away");
  ended->ended = true;
  ended->pid = 7;
  EXPECT_EQ(Judged(Kind::kAgentKernel, {ended}), "started: process 7 ended before it could be recorded");
  // It is a child of what is recorded, or waits.
  EXPECT_EQ(Judged(Kind::kAgentKernel, {ended, Said(kNothing)}), "started: ");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kNothing, true), ended}), "started: ");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {ended, Said(kNotYet)}), "pending: CANN is not loaded yet");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {ended, Said(kHeld)}), "skipped: held");
}

TEST(AgentVerdicts, NobodyKnowsBeforeTheAnswer) {
  EXPECT_EQ(Judged(Kind::kAgentKernel, {std::make_shared<AgentOutcome>()}),
            "pending: its agent has not answered yet");
}

TEST(AgentVerdicts, WhatMayStillComeIsPendingUntilItsEnd) {
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kNotYet)}), "pending: CANN is not loaded yet");
  EXPECT_EQ(Judged(Kind::kAgentMark, {Said(kNotYet)}), "started: ");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kNotYet, true)}),
            "skipped: never began: CANN is not loaded yet");
  EXPECT_EQ(Judged(Kind::kAgentMark, {Failed("it went away", "its agent is awaited")}),
            "pending: its agent is awaited");
  EXPECT_EQ(Judged(Kind::kAgentMark, {Failed("it went away", "its agent is awaited", true)}),
            "skipped: never began: its agent is awaited");
}

TEST(AgentVerdicts, WhatBeganLateSaysWhatItLacks) {
  const auto late = Said(kNothing);
  late->late = {Kind::kAgentKernel, Kind::kAgentApi};
  EXPECT_EQ(Judged(Kind::kAgentKernel, {late}),
            "started: CANN was loaded before: what it did before the recording is missing")
      << "of an agent that does not say for how long";
  late->missed_ns = 12'000'001;
  EXPECT_EQ(Judged(Kind::kAgentApi, {late}),
            "started: CANN was loaded up to 13 ms before: what it did in that time is missing");
  EXPECT_EQ(Judged(Kind::kAgentMark, {late}), "started: ");
}

TEST(AgentVerdicts, TheBestOfAProcessAndWhatCameOfIt) {
  // A shell that became a program; a helper that loads nothing beside a worker.
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kNotYet, true), Said(kNotYet)}),
            "pending: CANN is not loaded yet");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kNotYet, true), Said(kNothing)}), "started: ");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kNothing), Said(kNotYet)}), "started: ");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kNotYet, true), Said(kHeld)}), "skipped: held");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Failed("gone"), Said(kHeld)}), "skipped: held");
  EXPECT_EQ(Judged(Kind::kAgentKernel, {Said(kNothing, true), Failed("gone")}), "started: ");
}

TEST(AgentVerdicts, WhichOfTheKindsArePending) {
  EXPECT_EQ(PendingKinds(*Said(kNotYet), {Kind::kAgentMark, Kind::kAgentKernel, Kind::kAgentMemory}),
            (std::vector<Kind>{Kind::kAgentKernel, Kind::kAgentMemory}));
  EXPECT_TRUE(PendingKinds(*Said(kHeld), {Kind::kAgentKernel}).empty());
}

}  // namespace
}  // namespace profd::session
