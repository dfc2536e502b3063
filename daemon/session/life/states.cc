#include "daemon/session/life/states.h"

#include <algorithm>
#include <array>

namespace profd::session {

namespace {

struct Row {
  Phase phase;
  Event event;
  Step step;
};

constexpr auto kTable = std::to_array<Row>({
    // The directory is made while there is time, or beside the start of the sources.
    {Phase::kMaking, Event::kMade, {Phase::kArmed}},
    {Phase::kMaking, Event::kInstant, {Phase::kFiring}},
    {Phase::kMaking, Event::kRefused, {Phase::kFailing}},
    {Phase::kMaking, Event::kStop, {Phase::kMaking, StepAction::kWait}},

    {Phase::kArmed, Event::kInstant, {Phase::kFiring}},
    {Phase::kArmed, Event::kRefused, {Phase::kFailing}},
    {Phase::kArmed, Event::kStop, {Phase::kFailing, StepAction::kCancel}},

    {Phase::kFiring, Event::kFired, {Phase::kRunning}},
    {Phase::kFiring, Event::kRefused, {Phase::kFailing}},
    {Phase::kFiring, Event::kStop, {Phase::kFiring, StepAction::kWait}},

    {Phase::kRunning, Event::kRoll, {Phase::kRolling}},
    {Phase::kRunning, Event::kSwitch, {Phase::kSwitching}},
    {Phase::kRunning, Event::kStop, {Phase::kStopping, StepAction::kSeal}},

    // Two directories are open: the stop waits until it is clear which one ends the session.
    {Phase::kRolling, Event::kRolled, {Phase::kRunning}},
    {Phase::kRolling, Event::kStop, {Phase::kRolling, StepAction::kWait}},

    {Phase::kSwitching, Event::kSwitched, {Phase::kRunning}},
    {Phase::kSwitching, Event::kStop, {Phase::kStopping, StepAction::kSeal}},

    {Phase::kStopping, Event::kTakenDown, {Phase::kSealed}},
    {Phase::kStopping, Event::kStop, {Phase::kStopping}},
    {Phase::kStopping, Event::kSwitched, {Phase::kStopping}},

    {Phase::kFailing, Event::kTakenDown, {Phase::kFailed}},
    {Phase::kFailing, Event::kStop, {Phase::kFailing}},

    {Phase::kSealed, Event::kStop, {Phase::kSealed, StepAction::kAnswer}},
    {Phase::kSealed, Event::kSwitched, {Phase::kSealed}},
    {Phase::kFailed, Event::kStop, {Phase::kFailed, StepAction::kAnswer}},
});

}  // namespace

std::optional<Step> StepFor(Phase phase, Event event) {
  const auto row = std::ranges::find_if(
      kTable, [phase, event](const Row& row) { return row.phase == phase && row.event == event; });
  if (row == kTable.end()) return std::nullopt;
  return row->step;
}

State StateOf(Phase phase) {
  switch (phase) {
    case Phase::kMaking:
      return State::kPending;
    case Phase::kArmed:
    case Phase::kFiring:
      return State::kArmed;
    case Phase::kRunning:
    case Phase::kRolling:
    case Phase::kSwitching:
      return State::kRunning;
    case Phase::kStopping:
    case Phase::kFailing:
      return State::kStopping;
    case Phase::kSealed:
      return State::kSealed;
    case Phase::kFailed:
      return State::kFailed;
  }
  return State::kFailed;
}

const char* PhaseName(Phase phase) {
  static constexpr std::array<const char*, kPhases> kNames = {"making",  "armed",     "firing",   "running",
                                                              "rolling", "switching", "stopping", "failing",
                                                              "sealed",  "failed"};
  return kNames[static_cast<size_t>(phase)];
}

const char* EventName(Event event) {
  static constexpr std::array<const char*, kEvents> kNames = {
      "made", "instant", "fired", "refused", "stop", "roll", "rolled", "switch", "switched", "taken down"};
  return kNames[static_cast<size_t>(event)];
}

}  // namespace profd::session
