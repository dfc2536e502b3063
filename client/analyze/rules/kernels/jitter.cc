// Kernels that take now and then much longer than others of their type and shape.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 20, kSomeRanks = 16;

size_t LeastOf(const Context& context) {
  return static_cast<size_t>(std::max(1.0, std::ceil(context.Get("kernel.jitter_min"))));
}

}  // namespace

std::vector<double> UsualOfRareKernels(const Context& context) {
  const size_t least = LeastOf(context), ranks = context.job.ranks.size();
  std::vector<std::vector<Ns>> lengths(context.job.classes.size());
  std::vector<uint32_t> counts(lengths.size());
  for (size_t i = 0; i < std::min(ranks, kSomeRanks); ++i) {
    const Rank& rank = context.job.ranks[i * ranks / std::min(ranks, kSomeRanks)];
    std::ranges::fill(counts, 0);
    ForEachKernel(context, rank, [&](uint32_t, const Task& task) {
      if (++counts[task.kind] < least) lengths[task.kind].push_back(task.end - task.begin);
    });
  }
  std::vector<double> usual(lengths.size());
  for (size_t kind = 0; kind < usual.size(); ++kind) {
    if (lengths[kind].size() >= least) usual[kind] = Median(std::move(lengths[kind]));
  }
  return usual;
}

Jitter JitterOf(const Context& context, uint32_t r, const std::vector<double>& usual_of_rare) {
  const Rank& rank = context.job.ranks[r];
  Jitter jitter;
  const std::vector<Ns> beside = BesideOthers(rank);  // of those device.shared tells
  jitter.table = {"kernels that now and then take longer",
                  {"rank", "type", "shapes", "count", "longer", "median_us", "longest_us"},
                  {}};
  std::vector<std::vector<uint32_t>> classes(context.job.classes.size());
  ForEachKernel(context, rank, [&](uint32_t i, const Task& task) {
    classes[task.kind].push_back(i);
    jitter.computing += static_cast<double>(task.end - task.begin);
  });
  const double ratio = context.Get("kernel.jitter_ratio"),
               least_share = context.Get("kernel.jitter_percent") / 100;
  const size_t least = LeastOf(context);
  std::vector<double> usual_of(classes.size());
  std::vector<Ns> lengths;
  std::vector<std::pair<double, std::vector<Cell>>> rows;
  for (size_t kind = 0; kind < classes.size(); ++kind) {
    const std::vector<uint32_t>& tasks = classes[kind];
    const bool is_rare = tasks.size() < least;
    if (is_rare && (tasks.empty() || usual_of_rare[kind] <= 0)) continue;
    lengths.clear();
    for (const uint32_t task : tasks) lengths.push_back(rank.tasks[task].end - rank.tasks[task].begin);
    const double usual = usual_of[kind] = is_rare ? usual_of_rare[kind] : Median(lengths);
    std::vector<std::pair<uint32_t, Ns>> more;
    double sum = 0;
    // Where half of them take longer in a step, that is no jitter.
    std::map<uint32_t, std::pair<size_t, size_t>> longer;  // by step: of how many
    for (size_t i = 0; i < tasks.size(); ++i) {
      auto& [some, of] = longer[context.StepOf(rank, rank.tasks[tasks[i]].step)];
      some += static_cast<double>(lengths[i]) >= ratio * usual ? 1 : 0;
      ++of;
    }
    const auto is_of_step = [&](uint32_t task) {
      const auto& [some, of] = longer[context.StepOf(rank, rank.tasks[task].step)];
      return of > 2 && 2 * some >= of;
    };
    for (size_t i = 0; i < tasks.size(); ++i) {
      if (static_cast<double>(lengths[i]) < ratio * usual || is_of_step(tasks[i])) continue;
      if (!beside.empty() && beside[tasks[i]] > 0) continue;
      const double excess = static_cast<double>(lengths[i]) - usual;
      more.emplace_back(tasks[i], static_cast<Ns>(excess));
      sum += excess;
    }
    if (more.empty() || static_cast<double>(more.size()) < least_share * static_cast<double>(tasks.size()))
      continue;
    jitter.more.insert(jitter.more.end(), more.begin(), more.end());
    jitter.ns += sum;
    const KernelClass of = context.job.classes[kind];
    rows.emplace_back(
        -sum, std::vector<Cell>{rank.number, std::string(context.job.Text(of.type)),
                                std::string(context.job.Text(of.shapes)), static_cast<int64_t>(tasks.size()),
                                static_cast<int64_t>(more.size()), usual / 1e3,
                                static_cast<double>(*std::ranges::max_element(lengths)) / 1e3});
  }
  if (jitter.more.empty()) return jitter;
  // Where most kernels of a step take longer, the rank is slow then: that is no jitter.
  std::map<uint32_t, std::vector<double>> steps;  // of each of its kernels: times the median of its class
  for (size_t kind = 0; kind < classes.size(); ++kind) {
    if (usual_of[kind] <= 0) continue;
    for (const uint32_t i : classes[kind]) {
      const Task& task = rank.tasks[i];
      steps[context.StepOf(rank, task.step)].push_back(static_cast<double>(task.end - task.begin) /
                                                       usual_of[kind]);
    }
  }
  std::map<uint32_t, bool> is_slow;
  for (auto& [step, ratios] : steps) is_slow[step] = Median(std::move(ratios)) > 1 + (ratio - 1) / 4;
  std::erase_if(jitter.more, [&](const auto& one) {
    if (!is_slow[context.StepOf(rank, rank.tasks[one.first].step)]) return false;
    jitter.ns -= static_cast<double>(one.second);
    return true;
  });
  std::ranges::sort(rows, {}, [](const auto& row) { return row.first; });
  for (auto& [minus, row] : rows) {
    if (jitter.table.rows.size() < kMostRows) jitter.table.rows.push_back(std::move(row));
  }
  return jitter;
}

std::vector<std::pair<uint32_t, Jitter>> JitteryRanks(const Context& context) {
  std::vector<std::pair<uint32_t, Jitter>> all;
  const std::vector<double> usual_of_rare = UsualOfRareKernels(context);
  for (uint32_t r = 0; r < context.job.ranks.size(); ++r) {
    Jitter jitter = JitterOf(context, r, usual_of_rare);
    if (!jitter.more.empty() && jitter.ns >= context.Get("general.min_cost_percent") / 100 * jitter.computing)
      all.emplace_back(r, std::move(jitter));
  }
  return all;
}

bool IsCommon(const Context& context, size_t jittery) {
  return jittery > 0 && (context.job.ranks.size() == 1 || 2 * jittery >= context.job.ranks.size());
}

// Of most ranks alike: of a single one that is late for it rank.late tells.
void FindJitter(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<std::pair<uint32_t, std::vector<std::pair<uint32_t, Ns>>>> all;
  Finding finding;
  double sum = 0;
  std::vector<bool> is_hit(job.steps.size());
  std::vector<std::pair<uint32_t, Jitter>> jittery = JitteryRanks(context);
  if (!IsCommon(context, jittery.size())) return;
  for (auto& [r, jitter] : jittery) {
    for (const auto& [task, ns] : jitter.more)
      is_hit[context.StepOf(job.ranks[r], job.ranks[r].tasks[task].step)] = true;
    sum += jitter.ns / jitter.computing;
    finding.where.ranks.push_back(job.ranks[r].number);
    if (finding.evidence.empty()) {
      finding.evidence.push_back(std::move(jitter.table));
    } else if (finding.evidence.front().rows.size() + jitter.table.rows.size() <= 50) {
      std::ranges::move(jitter.table.rows, std::back_inserter(finding.evidence.front().rows));
    }
    all.emplace_back(r, std::move(jitter.more));
  }
  finding.id = "kernel.jitter";
  finding.key = "kernel.jitter";
  char text[32];
  std::snprintf(text, sizeof text, "%.1f %%", 100 * sum / static_cast<double>(all.size()));
  finding.title =
      (all.size() == 1 ? RankName(job.ranks[all.front().first])
                       : std::to_string(all.size()) + " of " + std::to_string(job.ranks.size()) + " ranks") +
      ": some kernels take much longer than others like them, " + text + " of the computing";
  for (uint32_t step = 0; step < is_hit.size(); ++step) {
    if (is_hit[step]) finding.steps.push_back(step);
  }
  finding.advice = {"see what else uses the memory of the device at those moments: --collect hbm,ddr"};
  finding.factors = {Occurrences(finding.steps.size())};
  finding.without = [all](const Replay& replay, Lengths& lengths) {
    for (const auto& [r, more] : all) Shorten(replay, lengths, r, more);
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
