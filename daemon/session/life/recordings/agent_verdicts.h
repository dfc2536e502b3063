// What becomes of the kinds that processes record of themselves, out of what their agents answered.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/agent/peer.h"
#include "daemon/session/plan/types.h"

namespace profd::session {

// How one recording of one process went so far.
struct AgentOutcome {
  pid_t pid = 0;
  base::Status status;                  // why it is not recorded
  std::vector<agent::Missing> missing;  // of it
  std::vector<format::Kind> late;       // kinds that began when CANN came …
  uint64_t missed_ns = 0;               // … and how much of it they have not, at most; 0 = nobody knows
  std::string awaited;                  // why it may record after all, where it does not
  bool answered = false;                // its agent was armed, or could not be
  bool over = false;                    // nothing more comes of it
  bool ended = false;                   // the process, before its agent could record
};
using AgentOutcomes = std::vector<std::shared_ptr<AgentOutcome>>;

struct AgentVerdict {
  Verdict verdict = Verdict::kStarted;
  std::string reason;
  bool never_began = false;  // it could have, until its end
  bool too_short = false;    // its process ended first
};
// The best of what several recordings say of a kind: of the process, of the programs that it became, of its
// children.
AgentVerdict JudgeKind(format::Kind kind, const AgentOutcomes& outcomes);

// Those of the kinds that the outcome says may still come.
std::vector<format::Kind> PendingKinds(const AgentOutcome& outcome, const std::vector<format::Kind>& kinds);

}  // namespace profd::session
