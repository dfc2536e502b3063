#include "client/report/view.h"

#include <algorithm>
#include <set>

namespace profd::report {
namespace {

constexpr size_t kMostPlaces = 12;

std::vector<StepTime> StepTimes(const analyze::Job& job) {
  std::vector<StepTime> steps(job.steps.size(), StepTime{INT64_MAX, INT64_MIN});
  for (const analyze::Rank& rank : job.ranks) {
    for (size_t i = 0; i < rank.steps.size(); ++i) {
      if (rank.job_step[i] == analyze::kNone) continue;
      StepTime& step = steps[rank.job_step[i]];
      step.begin = std::min(step.begin, rank.steps[i].begin);
      step.end = std::max(step.end, rank.steps[i].end);
    }
  }
  return steps;
}

// The rank of this number's own time of a step; the job's, where it has none.
StepTime StepOf(const View& view, size_t rank, uint32_t step) {
  const analyze::Rank& of = view.job.ranks[rank];
  for (size_t i = 0; i < of.steps.size(); ++i) {
    if (of.job_step[i] == step) return {of.steps[i].begin, of.steps[i].end};
  }
  return view.steps[step];
}

// The longest steps of a finding, the longest first.
std::vector<uint32_t> LongestSteps(const View& view, const analyze::Finding& finding) {
  std::vector<uint32_t> steps = finding.steps;
  if (steps.empty()) {
    for (size_t i = view.analysis.context().first; i < view.steps.size(); ++i)
      steps.push_back(static_cast<uint32_t>(i));
  }
  // Of a finding of every step a usual one shows more than the worst.
  const bool is_usual = finding.cost.pattern == analyze::Pattern::kEvery;
  std::ranges::stable_sort(steps, std::greater<>(),
                           [&](uint32_t step) { return view.steps[step].end - view.steps[step].begin; });
  if (is_usual && !steps.empty()) steps = {steps[steps.size() / 2], steps.front()};
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}

std::vector<Place> PlacesOf(const View& view, const analyze::Finding& finding) {
  std::vector<Place> places;
  for (const analyze::When& when : finding.when) {
    if (places.size() < kMostPlaces)
      places.push_back({view.IndexOf(when.rank), when.from, when.to, when.step, when.what});
  }
  if (!places.empty() || view.steps.empty()) return places;
  const size_t rank = finding.where.ranks.empty() ? 0 : view.IndexOf(finding.where.ranks.front());
  for (const uint32_t step : LongestSteps(view, finding)) {
    if (places.size() >= 3) break;
    const StepTime time = StepOf(view, rank, step);
    places.push_back({rank, time.begin, time.end, view.job.steps[step], "the step"});
  }
  return places;
}

std::vector<size_t> References(const View& view) {
  std::set<size_t> named;
  for (const analyze::Finding& finding : view.analysis.verdict().findings) {
    if (finding.where.ranks.size() * 2 > view.job.ranks.size()) continue;
    for (const int64_t rank : finding.where.ranks) named.insert(view.IndexOf(rank));
  }
  std::vector<size_t> references;
  const auto& peers = view.analysis.context().peers;
  for (size_t r = 0; r < view.job.ranks.size(); ++r) {
    size_t best = r;
    for (const uint32_t peer : peers[r]) {
      if (peer == r || named.contains(peer)) continue;
      const bool is_near = view.job.ranks[peer].node == view.job.ranks[r].node;
      if (best == r || (is_near && view.job.ranks[best].node != view.job.ranks[r].node)) best = peer;
    }
    references.push_back(best);
  }
  return references;
}

}  // namespace

View::View(const analyze::Analysis& of) : analysis(of), job(of.job()), steps(StepTimes(of.job())) {
  begin = INT64_MAX;
  end = INT64_MIN;
  const auto widen = [this](Ns from, Ns to) {
    begin = std::min(begin, from);
    end = std::max(end, to);
  };
  for (const analyze::Rank& rank : job.ranks) {
    for (const analyze::Task& task : rank.tasks) widen(task.begin, task.end);
    if (!rank.calls.empty()) widen(rank.calls.front().begin, rank.calls.front().end);
  }
  for (const StepTime& step : steps) widen(step.begin, step.end);
  if (end < begin) begin = end = 0;
  for (const analyze::Finding& finding : analysis.verdict().findings)
    places.push_back(PlacesOf(*this, finding));
  reference = References(*this);
}

size_t View::IndexOf(int64_t rank) const {
  const auto at = std::ranges::lower_bound(job.ranks, rank, {}, &analyze::Rank::number);
  return at == job.ranks.end() || at->number != rank ? 0 : static_cast<size_t>(at - job.ranks.begin());
}

}  // namespace profd::report
