#include "daemon/session/life/states.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace profd::session {
namespace {

constexpr Phase PhaseAt(int i) { return static_cast<Phase>(i); }
constexpr Event EventAt(int i) { return static_cast<Event>(i); }

// The phase after these events, which must all be possible.
Phase After(Phase phase, std::initializer_list<Event> events) {
  for (const Event event : events) {
    const auto step = StepFor(phase, event);
    EXPECT_TRUE(step) << PhaseName(phase) << " × " << EventName(event);
    if (!step) return phase;
    phase = step->next;
  }
  return phase;
}

TEST(States, ASessionPassesArmedOnItsWay) {
  EXPECT_EQ(StateOf(After(Phase::kMaking, {Event::kInstant})), State::kArmed);
  EXPECT_EQ(StateOf(After(Phase::kMaking, {Event::kMade})), State::kArmed);
  EXPECT_EQ(
      After(Phase::kMaking, {Event::kMade, Event::kInstant, Event::kFired, Event::kStop, Event::kTakenDown}),
      Phase::kSealed);
  EXPECT_EQ(After(Phase::kMaking, {Event::kInstant, Event::kRefused, Event::kTakenDown}), Phase::kFailed);
}

TEST(States, AStopIsTakenInEveryPhase) {
  for (int i = 0; i < kPhases; ++i) EXPECT_TRUE(StepFor(PhaseAt(i), Event::kStop)) << PhaseName(PhaseAt(i));
}

TEST(States, AStopSealsWhatRunsCancelsWhatWaitsAndWaitsForWhatIsUnderWay) {
  const std::vector<std::pair<Phase, StepAction>> expected = {
      {Phase::kMaking, StepAction::kWait},   {Phase::kArmed, StepAction::kCancel},
      {Phase::kFiring, StepAction::kWait},   {Phase::kRunning, StepAction::kSeal},
      {Phase::kRolling, StepAction::kWait},  {Phase::kSwitching, StepAction::kSeal},
      {Phase::kStopping, StepAction::kNone}, {Phase::kFailing, StepAction::kNone},
      {Phase::kSealed, StepAction::kAnswer}, {Phase::kFailed, StepAction::kAnswer},
  };
  ASSERT_EQ(expected.size(), static_cast<size_t>(kPhases));
  for (const auto& [phase, action] : expected)
    EXPECT_EQ(StepFor(phase, Event::kStop)->action, action) << PhaseName(phase);
}

// A stop that waits comes again, and must then do something.
TEST(States, WhereAStopWaitsTheNextPhaseEndsTheSession) {
  for (int i = 0; i < kPhases; ++i) {
    const Phase phase = PhaseAt(i);
    if (StepFor(phase, Event::kStop)->action != StepAction::kWait) continue;
    for (int j = 0; j < kEvents; ++j) {
      const auto step = StepFor(phase, EventAt(j));
      if (EventAt(j) == Event::kStop || !step || step->next == phase) continue;
      const StepAction then = StepFor(step->next, Event::kStop)->action;
      EXPECT_TRUE(then == StepAction::kSeal || then == StepAction::kCancel || then == StepAction::kWait ||
                  step->next == Phase::kFailing)
          << PhaseName(phase) << " → " << PhaseName(step->next);
    }
  }
}

TEST(States, TheEndIsTheEnd) {
  for (const Phase end : {Phase::kSealed, Phase::kFailed}) {
    for (int j = 0; j < kEvents; ++j) {
      const auto step = StepFor(end, EventAt(j));
      EXPECT_EQ(step ? step->next : end, end) << EventName(EventAt(j));
    }
  }
}

TEST(States, EveryPhaseIsReachedAndLeadsToAnEnd) {
  std::set<Phase> reached = {Phase::kMaking};
  for (size_t before = 0; before != reached.size();) {
    before = reached.size();
    for (const Phase phase : std::set<Phase>(reached)) {
      for (int j = 0; j < kEvents; ++j) {
        if (const auto step = StepFor(phase, EventAt(j))) reached.insert(step->next);
      }
    }
  }
  EXPECT_EQ(reached.size(), static_cast<size_t>(kPhases));
  for (int i = 0; i < kPhases; ++i) {
    const Phase phase = PhaseAt(i);
    if (phase == Phase::kSealed || phase == Phase::kFailed) continue;
    bool leaves = false;
    for (int j = 0; j < kEvents; ++j) {
      const auto step = StepFor(phase, EventAt(j));
      leaves |= step && step->next != phase;
    }
    EXPECT_TRUE(leaves) << PhaseName(phase);
  }
}

TEST(States, WhatCannotComeIsNotTaken) {
  EXPECT_FALSE(StepFor(Phase::kArmed, Event::kFired));
  EXPECT_FALSE(StepFor(Phase::kRunning, Event::kInstant));
  EXPECT_FALSE(StepFor(Phase::kRolling, Event::kSwitch));
  EXPECT_FALSE(StepFor(Phase::kSwitching, Event::kRoll));
  EXPECT_FALSE(StepFor(Phase::kSealed, Event::kFired));
}

}  // namespace
}  // namespace profd::session
