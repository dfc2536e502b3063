// Ranks that have become slower than they were.
#include <algorithm>
#include <cmath>
#include <map>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kLeastSteps = 4;  // on either side

// How long a rank's kernels take in each step against those of their class in all steps.
std::vector<double> PaceOf(const Context& context, const Rank& rank) {
  std::map<uint32_t, std::vector<Ns>> lengths;
  const auto step_of = [&](const Task& task) {
    return task.work == Work::kCompute && task.kind != kNone ? context.StepOf(rank, task.step) : kNone;
  };
  for (const Task& task : rank.tasks) {
    if (step_of(task) != kNone) lengths[task.kind].push_back(task.end - task.begin);
  }
  std::map<uint32_t, double> usual;
  for (auto& [kind, of] : lengths) usual[kind] = Median(std::move(of));
  std::vector<double> own(context.steps()), other(context.steps());
  for (const Task& task : rank.tasks) {
    const uint32_t step = step_of(task);
    if (step == kNone) continue;
    own[step - context.first] += static_cast<double>(task.end - task.begin);
    other[step - context.first] += usual[task.kind];
  }
  for (size_t i = 0; i < own.size(); ++i) own[i] = other[i] > 0 ? own[i] / other[i] : 1;
  return own;
}

// Where a series changes its level: the cut that leaves the least, if it leaves so much less that another
// parameter is worth it (BIC). 0: nowhere.
size_t ChangeOf(const std::vector<double>& values) {
  const size_t n = values.size();
  if (n < 2 * kLeastSteps) return 0;
  double sum = 0, squares = 0;
  for (const double value : values) sum += value, squares += value * value;
  const auto rest = [](double sum, double squares, size_t n) {
    return squares - sum * sum / static_cast<double>(n);
  };
  const double whole = rest(sum, squares, n);
  double left = 0, left_squares = 0, best_rest = whole;
  size_t best = 0;
  for (size_t i = 0; i < n; ++i) {
    if (i >= kLeastSteps && n - i >= kLeastSteps) {
      const double both = rest(left, left_squares, i) + rest(sum - left, squares - left_squares, n - i);
      if (both < best_rest) best_rest = both, best = i;
    }
    left += values[i];
    left_squares += values[i] * values[i];
  }
  const auto count = static_cast<double>(n);
  const double floor = 1e-12 * count;
  const double gain = count * std::log((whole + floor) / (best_rest + floor));
  return gain > 3 * std::log(count) ? best : 0;
}

struct Changed {
  uint32_t rank = 0;
  size_t at = 0;  // of the steps that are analysed
  double ratio = 1;
};

}  // namespace

// Of one whose peers stay as they were rank.late tells: this is of those that have none, or that all change.
void FindSlowing(const Context& context, Found& found) {
  const Job& job = context.job;
  if (!job.has_steps || context.steps() < 2 * kLeastSteps) return;
  const double least = 1 + context.Get("rank.own_history_percent") / 100;
  std::vector<Changed> changed;
  Table table{"kernels against those of the same type and shape in all steps",
              {"rank", "since_step", "before", "since", "ratio"},
              {}};
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const std::vector<double> pace = PaceOf(context, job.ranks[r]);
    const size_t at = ChangeOf(pace);
    if (at == 0) continue;
    const std::vector<double> before(pace.begin(), pace.begin() + static_cast<ptrdiff_t>(at)),
        since(pace.begin() + static_cast<ptrdiff_t>(at), pace.end());
    const double ratio = Median(since) / Median(before);
    // Of most steps that are slow, not of a few long ones.
    const double error = MedianError(before) + MedianError(since);
    const bool stays = Quantile(since, 0.2) > Quantile(before, 0.8);
    if (ratio < least || !stays || ratio - 1 < context.Get("general.effect_se") * error) continue;
    changed.push_back({r, at, ratio});
    if (table.rows.size() < 50)
      table.rows.push_back(
          {job.ranks[r].number, job.steps[context.first + at], Median(before), Median(since), ratio});
  }
  std::vector<Changed> told;
  for (const Changed& one : changed) {
    const std::vector<uint32_t>& peers = context.peers[one.rank];
    const auto with = std::ranges::count_if(
        changed, [&](const Changed& other) { return std::ranges::binary_search(peers, other.rank); });
    if (peers.size() < 2 || 2 * static_cast<size_t>(with) > peers.size()) told.push_back(one);
  }
  if (told.empty()) return;
  std::vector<uint32_t> ranks;
  std::vector<double> ratios;
  std::vector<size_t> ats;
  for (const Changed& one : told) {
    ranks.push_back(one.rank);
    ratios.push_back(one.ratio);
    ats.push_back(one.at);
  }
  const auto at = static_cast<size_t>(Median(ats));
  Finding finding;
  finding.id = "rank.own-history";
  finding.key = "rank.own-history";
  finding.title = (ranks.size() == 1                  ? RankName(job.ranks[ranks.front()])
                   : ranks.size() == job.ranks.size() ? "all ranks"
                                                      : std::to_string(ranks.size()) + " of " +
                                                            std::to_string(job.ranks.size()) + " ranks") +
                  ": since step " + std::to_string(job.steps[context.first + at]) +
                  " the same kernels take " + PercentOf(Median(ratios) - 1) + " longer than before";
  finding.where = WhereOf(job, ranks);
  for (size_t i = at; i < context.steps(); ++i)
    finding.steps.push_back(static_cast<uint32_t>(context.first + i));
  finding.evidence.push_back(std::move(table));
  finding.advice = {"look at what happened then: clock, temperature, another program on the device"};
  finding.factors = {Occurrences(finding.steps.size())};
  finding.without = [told, &context](const Replay& replay, Lengths& lengths) {
    for (const Changed& one : told)
      ScaleComputing(context, replay, lengths, one.rank, 1 / one.ratio, context.first + one.at);
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
