// What a kind is said to be, out of what the recordings of a process, its later programs and its children
// say.
#include "daemon/session/life/recordings/agent_verdicts.h"

#include <gtest/gtest.h>

namespace profd::session {
namespace {

std::shared_ptr<AgentOutcome> Said(std::string note, bool over = false) {
  auto outcome = std::make_shared<AgentOutcome>();
  outcome->note = std::move(note);
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
std::string Judged(const std::string& kind, const AgentOutcomes& outcomes) {
  const AgentVerdict verdict = JudgeKind(kind, outcomes);
  return std::string(VerdictName(verdict.verdict)) + ": " + verdict.reason;
}

constexpr char kNotYet[] = "MSPTI kinds: pending: CANN is not loaded yet";

TEST(AgentVerdicts, OneProcess) {
  EXPECT_EQ(Judged("agent-range", {Said("")}), "started: ");
  EXPECT_EQ(Judged("agent-kernel", {Said("MSPTI kinds: held")}), "skipped: held");
  EXPECT_EQ(Judged("agent-range", {Said("MSPTI kinds: held")}), "started: ");
  EXPECT_EQ(Judged("agent-memory", {Said("agent-memory: needs a preload")}), "skipped: needs a preload");
  EXPECT_EQ(Judged("agent-kernel", {Said("agent-memory: needs a preload")}), "started: ");
  EXPECT_EQ(Judged("agent-kernel", {Failed("it went away")}), "failed: it went away");
}

TEST(AgentVerdicts, NobodyKnowsBeforeTheAnswer) {
  EXPECT_EQ(Judged("agent-kernel", {std::make_shared<AgentOutcome>()}),
            "pending: its agent has not answered yet");
}

TEST(AgentVerdicts, WhatMayStillComeIsPendingUntilItsEnd) {
  EXPECT_EQ(Judged("agent-kernel", {Said(kNotYet)}), "pending: CANN is not loaded yet");
  EXPECT_EQ(Judged("agent-mark", {Said(kNotYet)}), "started: ");
  EXPECT_EQ(Judged("agent-kernel", {Said(kNotYet, true)}),
            "skipped: still pending at the end: CANN is not loaded yet");
  EXPECT_EQ(Judged("agent-mark", {Failed("it went away", "its agent is awaited")}),
            "pending: its agent is awaited");
  EXPECT_EQ(Judged("agent-mark", {Failed("it went away", "its agent is awaited", true)}),
            "skipped: still pending at the end: its agent is awaited");
}

TEST(AgentVerdicts, TheBestOfAProcessAndWhatCameOfIt) {
  // A shell that became a program; a helper that loads nothing beside a worker.
  EXPECT_EQ(Judged("agent-kernel", {Said(kNotYet, true), Said(kNotYet)}), "pending: CANN is not loaded yet");
  EXPECT_EQ(Judged("agent-kernel", {Said(kNotYet, true), Said("")}), "started: ");
  EXPECT_EQ(Judged("agent-kernel", {Said(""), Said(kNotYet)}), "started: ");
  EXPECT_EQ(Judged("agent-kernel", {Failed("gone"), Said("MSPTI kinds: held")}), "skipped: held");
  EXPECT_EQ(Judged("agent-kernel", {Said("", true), Failed("gone")}), "started: ");
}

TEST(AgentVerdicts, WhichOfTheKindsArePending) {
  EXPECT_EQ(PendingKinds(*Said(kNotYet), {"agent-mark", "agent-kernel", "agent-memory"}),
            (std::vector<std::string>{"agent-kernel", "agent-memory"}));
  EXPECT_TRUE(PendingKinds(*Said("MSPTI kinds: held"), {"agent-kernel"}).empty());
}

}  // namespace
}  // namespace profd::session
