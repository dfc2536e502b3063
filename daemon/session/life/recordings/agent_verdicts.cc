#include "daemon/session/life/recordings/agent_verdicts.h"

#include <algorithm>
#include <iterator>

#include "libagent/abi/words.h"

namespace profd::session {

namespace {

// nullptr: it can be had.
const agent::Missing* FindMissing(const AgentOutcome& outcome, format::Kind kind) {
  const auto found = std::ranges::find(outcome.missing, kind, &agent::Missing::kind);
  return found == outcome.missing.end() ? nullptr : &*found;
}

// Nobody can wait for it any more.
AgentVerdict Pending(const std::string& why, bool over) {
  if (over) return {Verdict::kSkipped, std::string(abi::kNeverBegan) + why, true};
  return {Verdict::kPending, why};
}

// A kind that began when CANN was there already.
std::string Missed(const AgentOutcome& outcome) {
  constexpr uint64_t kMs = 1'000'000;
  if (outcome.missed_ns == 0) return "CANN was loaded before: what it did before the recording is missing";
  return "CANN was loaded up to " + std::to_string((outcome.missed_ns + kMs - 1) / kMs) +
         " ms before: what it did in that time is missing";
}

AgentVerdict JudgeOne(format::Kind kind, const AgentOutcome& outcome) {
  if (!outcome.awaited.empty()) return Pending(outcome.awaited, outcome.over);
  if (!outcome.answered) return Pending("its agent has not answered yet", outcome.over);
  // As if it had ended a moment later: no fault.
  if (outcome.ended) {
    return {.verdict = Verdict::kStarted,
            .reason = "process " + std::to_string(outcome.pid) + " ended before it could be recorded",
            .too_short = true};
  }
  if (!outcome.status.ok()) return {Verdict::kFailed, outcome.status.message()};
  const agent::Missing* missing = FindMissing(outcome, kind);
  if (missing == nullptr) {
    return {Verdict::kStarted, std::ranges::count(outcome.late, kind) > 0 ? Missed(outcome) : ""};
  }
  if (missing->later) return Pending(missing->why, outcome.over);
  return {Verdict::kSkipped, missing->why};
}

// What was refused says more than what a shell, before it became the program, had waited for. A process that
// lived too short says nothing of the others.
int Rank(const AgentVerdict& verdict) {
  if (verdict.too_short) return 5;
  switch (verdict.verdict) {
    case Verdict::kStarted:
      return 0;
    case Verdict::kPending:
      return 1;
    case Verdict::kSkipped:
      return verdict.never_began ? 3 : 2;
    case Verdict::kFailed:
      return 4;
  }
  return 4;
}

}  // namespace

AgentVerdict JudgeKind(format::Kind kind, const AgentOutcomes& outcomes) {
  AgentVerdict best{Verdict::kFailed, "nothing came of it"};
  bool any = false;
  for (const auto& outcome : outcomes) {
    AgentVerdict verdict = JudgeOne(kind, *outcome);
    if (any && Rank(verdict) >= Rank(best)) continue;
    best = std::move(verdict);
    any = true;
  }
  return best;
}

std::vector<format::Kind> PendingKinds(const AgentOutcome& outcome, const std::vector<format::Kind>& kinds) {
  std::vector<format::Kind> pending;
  std::ranges::copy_if(kinds, std::back_inserter(pending), [&outcome](format::Kind kind) {
    const agent::Missing* missing = FindMissing(outcome, kind);
    return missing != nullptr && missing->later;
  });
  return pending;
}

}  // namespace profd::session
