#include "daemon/session/plan/types.h"

namespace profd::session {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kStarted:
      return "started";
    case Verdict::kPending:
      return "pending";
    case Verdict::kSkipped:
      return "skipped";
    case Verdict::kFailed:
      return "failed";
  }
  return "";
}

const char* StateName(State state) {
  switch (state) {
    case State::kPending:
      return "pending";
    case State::kArmed:
      return "armed";
    case State::kRunning:
      return "running";
    case State::kStopping:
      return "stopping";
    case State::kSealed:
      return "sealed";
    case State::kFailed:
      return "failed";
  }
  return "";
}

const char* EndReasonName(EndReason reason) {
  switch (reason) {
    case EndReason::kNone:
      return "";
    case EndReason::kStopped:
      return "stopped";
    case EndReason::kDuration:
      return "duration";
    case EndReason::kTargetExit:
      return "target_exit";
    case EndReason::kDaemonStop:
      return "daemon_stop";
    case EndReason::kFailed:
      return "failed";
    case EndReason::kInterrupted:
      return "interrupted";
    case EndReason::kSteps:
      return "steps";
    case EndReason::kDisk:
      return "disk";
    case EndReason::kLease:
      return "lease";
  }
  return "";
}

void Totals::Add(const SessionInfo& info) {
  for (const KindState& kind : info.kinds) {
    Source source = kHost;
    if (kind.unit.starts_with("device:")) source = kDevice;
    if (TraitsOf(kind.kind).scope == format::Scope::kAgent) source = kAgent;
    bytes[source] += kind.bytes;
    lost[source] += kind.lost;
  }
}

}  // namespace profd::session
