// The life of a session as a table: what may happen in which phase, what the next phase is, what is to be
// done. The session does it; this file decides. Pure.
#pragma once

#include <cstdint>
#include <optional>

#include "daemon/session/plan/types.h"

namespace profd::session {

enum class Phase : uint8_t {
  kMaking,     // its directory is being made, while it waits for an instant
  kArmed,      // the directory stands, the instant is to come
  kFiring,     // its sources are being started
  kRunning,    // at least one source delivers
  kRolling,    // … and it is going on in a new directory
  kSwitching,  // … and a pause begins or ends
  kStopping,   // its sources are being stopped, what they hold is being written
  kFailing,    // it is taken apart again: nothing of it stays
  kSealed,     // all is on disk
  kFailed,
};
inline constexpr int kPhases = 10;

enum class Event : uint8_t {
  kMade,       // the directory stands
  kInstant,    // the sources are to start: the delay is over, or there is none
  kFired,      // at least one source runs
  kRefused,    // nothing can be had, or the directory cannot be made
  kStop,       // somebody, or the session's own end, wants it to end
  kRoll,       // a new directory is due
  kRolled,     // … and in use, or could not be had
  kSwitch,     // a pause is to begin or to end
  kSwitched,   // … and has
  kTakenDown,  // nothing more comes of the stop, or of the failure
};
inline constexpr int kEvents = 10;

enum class StepAction : uint8_t {
  kNone,
  kWait,    // the stop is remembered, and comes again with the next phase
  kCancel,  // it never began: take it apart
  kSeal,    // stop the sources, write, close
  kAnswer,  // it has ended already: tell the caller
};

struct Step {
  Phase next;
  StepAction action = StepAction::kNone;
};

// None: the event cannot come in this phase.
std::optional<Step> StepFor(Phase phase, Event event);

// What clients are shown of a phase.
State StateOf(Phase phase);

const char* PhaseName(Phase phase);  // "making"
const char* EventName(Event event);  // "made"

}  // namespace profd::session
