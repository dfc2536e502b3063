// A stop of the host behind the last thing that it launches, of which something tells why: nothing follows
// that could be late.
#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/host/stall_cause.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

// What is behind the last call of each step that is analysed, until the program ends it; the last one last.
std::vector<Piece> TailsOf(const Context& context, uint32_t r) {
  const Rank& rank = context.job.ranks[r];
  std::vector<Piece> tails;
  for (uint32_t i = 0; i < rank.steps.size(); ++i) {
    const uint32_t step = context.StepOf(rank, i);
    if (step == kNone) continue;
    const Step& of = rank.steps[i];
    const auto behind = std::ranges::lower_bound(rank.calls, of.end, {}, &Call::begin);
    if (behind == rank.calls.begin() || std::prev(behind)->begin < of.begin) continue;
    Piece tail;
    tail.rank = r;
    tail.index = static_cast<uint32_t>(behind - rank.calls.begin() - 1);
    tail.step = tail.place_step = step;
    tail.from = std::prev(behind)->end;
    tail.to = of.end;
    if (tail.to >= tail.from) tails.push_back(tail);
  }
  return tails;
}

}  // namespace

void FindTails(const Context& context, Found& found) {
  const Job& job = context.job;
  const double least = std::max(context.Get("general.min_once_ms") * 1e6,
                                context.Get("general.once_step_percent") / 100 * context.median_step_ns);
  const auto last_step = static_cast<uint32_t>(job.steps.size() - 1);
  std::map<std::string, std::vector<std::pair<Piece, Reason>>> by_cause;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    if (rank.level < Level::kLaunches || rank.calls.empty()) continue;
    std::vector<Piece> tails = TailsOf(context, r);
    // Of all others the next step tells.
    if (tails.size() < 2 || tails.back().step != last_step || tails.back().index + 1 < rank.calls.size())
      continue;
    Piece last = tails.back();
    tails.pop_back();
    std::vector<Ns> usual;
    usual.reserve(tails.size());
    for (const Piece& tail : tails) usual.push_back(tail.length());
    last.typical = static_cast<Ns>(Median(std::move(usual)));
    if (static_cast<double>(last.excess()) < least) continue;
    // A step that is as long as others has more launches, which the recording ended before.
    const double more = static_cast<double>(context.step_lengths.back()) - context.median_step_ns;
    if (2 * more < static_cast<double>(last.excess())) continue;
    Reason reason = ReasonOf(context, last);
    if (reason.text.empty()) continue;  // step.outlier says that there is no cause
    by_cause[reason.id].emplace_back(last, std::move(reason));
  }
  for (auto& [cause, all] : by_cause) {
    const auto& [longest, reason] =
        *std::ranges::max_element(all, {}, [](const auto& one) { return one.first.excess(); });
    std::vector<uint32_t> ranks;
    for (const auto& [piece, why] : all) ranks.push_back(piece.rank);
    Finding finding;
    finding.id = "host.stall";
    finding.key = "host.stall/" + RankList(job, ranks) + "/end" + (cause.empty() ? "" : "/" + cause);
    finding.title =
        (ranks.size() == job.ranks.size() && ranks.size() > 1 ? "all ranks" : RanksName(job, ranks)) +
        ": behind its last launch the host stops for " + Time(static_cast<double>(longest.length())) + ": " +
        reason.Sentence();
    finding.where = ranks.size() == 1 ? WhereOf(job.ranks[ranks.front()]) : WhereOf(job, ranks);
    finding.steps = {last_step};
    for (const auto& [piece, why] : all)
      finding.when.push_back({job.ranks[piece.rank].number, piece.from, piece.to, job.steps[last_step],
                              "the host launches nothing more"});
    if (!cause.empty()) finding.causes = {{cause, reason.share}};
    AddEvidence(context, reason, job.ranks[longest.rank], finding);
    finding.advice = {AdviceOf(reason, job.ranks[longest.rank])};
    finding.factors = {cause.empty()
                           ? Factor{"cause", 0.6, "the stop of the host is recorded, its reason is not"}
                           : reason.how};
    SetBound(context, finding, static_cast<double>(longest.excess()));
    found.findings.push_back(std::move(finding));
  }
}

}  // namespace profd::analyze
