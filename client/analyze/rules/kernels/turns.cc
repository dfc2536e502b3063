#include "client/analyze/rules/kernels/turns.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "base/join.h"
#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

constexpr size_t kFewRanks = 3, kFewSteps = 5, kFewChanges = 3;
constexpr size_t kMostRows = 50;

using ByStep = std::vector<std::vector<double>>;  // by peer and step

// What ranks compute in each step, ns.
ByStep WorkOf(const Context& context, const std::vector<uint32_t>& peers) {
  const Job& job = context.job;
  ByStep work(peers.size(), std::vector<double>(context.steps()));
  for (size_t p = 0; p < peers.size(); ++p) {
    const Rank& rank = job.ranks[peers[p]];
    ForEachKernel(context, rank, [&](uint32_t, const Task& task) {
      if (!IsOfExperts(job.Text(job.classes[task.kind].type)))
        work[p][context.StepOf(rank, task.step) - context.first] +=
            static_cast<double>(task.end - task.begin);
    });
  }
  return work;
}

// What the rules kernel.jitter and device.shared tell of.
void TakeExplained(const Context& context, const std::vector<uint32_t>& peers, ByStep& work) {
  const std::vector<double> usual_of_rare = UsualOfRareKernels(context);
  for (size_t p = 0; p < peers.size(); ++p) {
    const Rank& rank = context.job.ranks[peers[p]];
    for (const auto& all :
         {JitterOf(context, peers[p], usual_of_rare).more, SharedOf(context, peers[p]).more}) {
      for (const auto& [task, ns] : all)
        work[p][context.StepOf(rank, rank.tasks[task].step) - context.first] -= static_cast<double>(ns);
    }
  }
}

// How much ranks differ from what is usual in a step, apart from what each of them always has more.
double UnevennessOf(const ByStep& work, double threshold) {
  ByStep shares(work.size());
  std::vector<double> noise;
  for (size_t i = 0; i < work.front().size(); ++i) {
    std::vector<double> of_step;
    for (const auto& of : work) of_step.push_back(of[i]);
    const double usual = Usual(of_step, threshold);
    for (size_t p = 0; p < work.size(); ++p) shares[p].push_back(usual > 0 ? work[p][i] / usual : 1);
  }
  for (const auto& of : shares) {
    const double middle = Median(of);
    for (const double share : of) noise.push_back(share - middle);
  }
  return Spread(noise);
}

}  // namespace

namespace {

// How often another one of them is late than was the last time.
size_t ChangesOf(const std::vector<Late>& all, const std::vector<size_t>& turns) {
  std::map<uint32_t, size_t> who;  // by step; of several any
  for (const size_t i : turns) {
    for (const uint32_t step : all[i].finding.steps) who[step] = i;
  }
  size_t changes = 0, last = turns.front();
  for (const auto& [step, i] : who) changes += std::exchange(last, i) != i ? 1 : 0;
  return changes;
}

}  // namespace

void JoinTurns(const Context& context, std::vector<Late>& all, std::vector<Finding>& findings) {
  constexpr double kMostHits =
      1.25;  // of the steps in which one of them is late: else they are late together
  constexpr size_t kMuchMore =
      3;  // steps than those of another: who is late once has no turns with who is often
  std::vector<size_t> turns;
  std::set<uint32_t> steps;
  size_t hits = 0, most = 0;
  for (const Late& late : all) most = std::max(most, late.finding.steps.size());
  for (size_t i = 0; i < all.size(); ++i) {
    const Finding& finding = all[i].finding;
    // Of two who change with each step one has half of them, and one or two more.
    if (finding.causes.size() != 1 || 5 * finding.steps.size() > 3 * context.steps() ||
        kMuchMore * finding.steps.size() <= most)
      continue;
    turns.push_back(i);
    hits += finding.steps.size();
    steps.insert(finding.steps.begin(), finding.steps.end());
  }
  if (turns.size() < 2 || static_cast<double>(hits) > kMostHits * static_cast<double>(steps.size())) return;
  // Two that are late at one time each are two faults.
  if (turns.size() < kFewRanks && ChangesOf(all, turns) < kFewChanges) return;
  Finding joint;
  joint.id = "rank.late";
  joint.key = "rank.late/in-turn";
  joint.title = std::to_string(turns.size()) + " ranks are late in turn: in " + std::to_string(steps.size()) +
                " of " + std::to_string(context.steps()) + " steps the kernels of one of them take longer";
  joint.causes = {{"rank.compute", 1}};
  joint.steps.assign(steps.begin(), steps.end());
  joint.advice = {
      "look for what moves from rank to rank: tokens, sizes of batches, another job's turns on the devices"};
  joint.factors = {Occurrences(steps.size())};
  Table table{"who is late when", {"rank", "steps"}, {}};
  std::vector<std::function<void(const Replay&, Lengths&)>> without;
  for (const size_t i : turns) {
    Finding& one = all[i].finding;
    std::vector<int64_t> numbers;
    for (const uint32_t step : one.steps) numbers.push_back(context.job.steps[step]);
    std::ranges::copy(one.where.ranks, std::back_inserter(joint.where.ranks));
    std::ranges::copy(one.where.devices, std::back_inserter(joint.where.devices));
    if (table.rows.size() < kMostRows)
      table.rows.push_back({one.where.ranks.front(), base::Joined(numbers, ",")});
    if (joint.evidence.empty()) joint.evidence = one.evidence;
    without.push_back(std::move(one.without));
    one.id.clear();
  }
  joint.evidence.insert(joint.evidence.begin(), std::move(table));
  joint.without = [without = std::move(without)](const Replay& replay, Lengths& lengths) {
    for (const auto& one : without) one(replay, lengths);
  };
  std::erase_if(all, [](const Late& late) { return late.finding.id.empty(); });
  findings.push_back(std::move(joint));
}

bool FindUneven(const Context& context, const std::vector<uint32_t>& peers, bool same,
                std::vector<Finding>& findings) {
  const Job& job = context.job;
  if (peers.size() < kFewRanks || !job.has_steps || context.steps() < kFewSteps) return false;
  const double threshold = context.Get("general.effect_percent") / 100;
  ByStep work = WorkOf(context, peers);
  if (UnevennessOf(work, threshold) < threshold) return false;
  TakeExplained(context, peers, work);
  if (UnevennessOf(work, threshold) < threshold) return false;
  std::vector<double> means, longest;
  std::set<ptrdiff_t> slowest;
  for (size_t i = 0; i < context.steps(); ++i) {
    std::vector<double> of_step;
    for (const auto& of : work) of_step.push_back(of[i]);
    means.push_back(Mean(of_step));
    if (means.back() > 0) longest.push_back(Quantile(of_step, 1) / means.back() - 1);
    slowest.insert(std::ranges::max_element(of_step) - of_step.begin());
  }
  if (slowest.size() < kFewRanks) return false;  // always the same ones
  Finding finding;
  finding.id = "rank.late";
  finding.key = "rank.late/uneven";
  finding.title =
      RanksName(job, peers) +
      " compute for unequal times, another one the longest in each step: " + PercentOf(Median(longest)) +
      " longer than their mean, and the others wait";
  finding.where = WhereOf(job, peers);
  finding.steps = AllSteps(context);
  finding.causes = {{same ? "rank.compute" : "rank.work", 1}};
  Table table{"computing of a step", {"rank", "mean_ms", "least_ms", "most_ms", "steps_as_longest"}, {}};
  for (size_t p = 0; p < peers.size() && p < kMostRows; ++p) {
    int64_t first = 0;
    for (size_t i = 0; i < context.steps(); ++i)
      first += std::ranges::all_of(work, [&](const auto& of) { return of[i] <= work[p][i]; });
    table.rows.push_back({job.ranks[peers[p]].number, Mean(work[p]) / 1e6, Quantile(work[p], 0) / 1e6,
                          Quantile(work[p], 1) / 1e6, first});
  }
  finding.evidence.push_back(std::move(table));
  finding.advice = {
      "give the ranks of a step equal work: sort samples by length, or pack them to one length"};
  finding.factors = {Occurrences(context.steps())};
  finding.without = [peers, work, means, &context](const Replay& replay, Lengths& lengths) {
    for (size_t p = 0; p < peers.size(); ++p) {
      const Rank& rank = replay.job().ranks[peers[p]];
      Lengths::OfRank& of = replay.Touch(lengths, peers[p]);
      ForEachKernel(context, rank, [&](uint32_t i, const Task& task) {
        const size_t step = context.StepOf(rank, task.step) - context.first;
        if (work[p][step] > 0)
          of.task[i] = std::llround(static_cast<double>(of.task[i]) * means[step] / work[p][step]);
      });
    }
  };
  findings.push_back(std::move(finding));
  return true;
}

Excess ExcessOfAll(const Context& context, const std::vector<double>& values, double noise, double middle) {
  Excess excess;
  excess.steps = AllSteps(context);
  excess.mean = Mean(values) - middle;
  excess.error = noise / std::sqrt(static_cast<double>(std::max<size_t>(values.size(), 1)));
  excess.is_clear = excess.mean >= context.Get("general.effect_percent") / 100 &&
                    excess.mean > context.Get("general.effect_se") * excess.error;
  return excess;
}

}  // namespace profd::analyze
