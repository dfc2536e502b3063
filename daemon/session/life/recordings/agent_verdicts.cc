#include "daemon/session/life/recordings/agent_verdicts.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "daemon/session/plan/kinds.h"

namespace profd::session {

namespace {

constexpr std::string_view kPending = "pending: ";

// What a note says of one kind, "" for nothing.
std::string ReasonIn(const std::string& note, const std::string& kind) {
  for (const std::string& who : {kind, std::string(IsFromMspti(kind) ? "MSPTI kinds" : kind)}) {
    const size_t at = note.find(who + ": ");
    if (at == std::string::npos) continue;
    const size_t begin = at + who.size() + 2;
    return note.substr(begin, note.find("; ", begin) - begin);
  }
  return "";
}

// Nobody can wait for it any more.
AgentVerdict Pending(const std::string& why, bool over) {
  if (over) return {Verdict::kSkipped, "still pending at the end: " + why};
  return {Verdict::kPending, why};
}

AgentVerdict JudgeOne(const std::string& kind, const AgentOutcome& outcome) {
  if (!outcome.awaited.empty()) return Pending(outcome.awaited, outcome.over);
  if (!outcome.answered) return Pending("its agent has not answered yet", outcome.over);
  if (!outcome.status.ok()) return {Verdict::kFailed, outcome.status.message()};
  const std::string why = ReasonIn(outcome.note, kind);
  if (why.starts_with(kPending)) return Pending(why.substr(kPending.size()), outcome.over);
  if (!why.empty()) return {Verdict::kSkipped, why};
  return {};
}

int Rank(Verdict verdict) {
  switch (verdict) {
    case Verdict::kStarted:
      return 0;
    case Verdict::kPending:
      return 1;
    case Verdict::kSkipped:
      return 2;
    case Verdict::kFailed:
      return 3;
  }
  return 3;
}

}  // namespace

AgentVerdict JudgeKind(const std::string& kind, const AgentOutcomes& outcomes) {
  AgentVerdict best{Verdict::kFailed, "nothing came of it"};
  bool any = false;
  for (const auto& outcome : outcomes) {
    AgentVerdict verdict = JudgeOne(kind, *outcome);
    if (any && Rank(verdict.verdict) >= Rank(best.verdict)) continue;
    best = std::move(verdict);
    any = true;
  }
  return best;
}

std::vector<std::string> PendingKinds(const AgentOutcome& outcome, const std::vector<std::string>& kinds) {
  std::vector<std::string> pending;
  std::ranges::copy_if(kinds, std::back_inserter(pending), [&outcome](const std::string& kind) {
    return ReasonIn(outcome.note, kind).starts_with(kPending);
  });
  return pending;
}

}  // namespace profd::session
