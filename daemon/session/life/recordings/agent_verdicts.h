// What becomes of the kinds that processes record of themselves, out of what their agents answered.
#pragma once

#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/session/plan/types.h"

namespace profd::session {

// How one recording of one process went so far.
struct AgentOutcome {
  pid_t pid = 0;
  base::Status status;  // why it is not recorded
  // What of it cannot be had: "agent-memory: why; MSPTI kinds: why". "pending: " in front of a why: it may
  // still come.
  std::string note;
  std::string awaited;    // why it may record after all, where it does not
  bool answered = false;  // its agent was armed, or could not be
  bool over = false;      // nothing more comes of it
};
using AgentOutcomes = std::vector<std::shared_ptr<AgentOutcome>>;

struct AgentVerdict {
  Verdict verdict = Verdict::kStarted;
  std::string reason;
};
// The best of what several recordings say of a kind: of the process, of the programs that it became, of its
// children.
AgentVerdict JudgeKind(const std::string& kind, const AgentOutcomes& outcomes);

// Those of the kinds that the outcome says may still come.
std::vector<std::string> PendingKinds(const AgentOutcome& outcome, const std::vector<std::string>& kinds);

}  // namespace profd::session
