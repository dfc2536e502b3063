// Experts that are given more than others, now on this rank and now on that one.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {

bool IsOfExperts(std::string_view type) { return type.find("GroupedMatmul") != type.npos; }

void FindUnevenExperts(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<bool> of_experts(job.classes.size());
  for (size_t i = 0; i < of_experts.size(); ++i) of_experts[i] = IsOfExperts(job.Text(job.classes[i].type));
  if (std::ranges::none_of(of_experts, [](bool is) { return is; })) return;  // no such model
  std::map<std::vector<uint32_t>, bool> done;
  for (uint32_t first = 0; first < job.ranks.size(); ++first) {
    const std::vector<uint32_t>& peers = context.peers[first];
    if (peers.size() < 2 || !done.try_emplace(peers, true).second) continue;
    std::vector<std::vector<double>> ns(peers.size(), std::vector<double>(context.steps()));
    for (size_t p = 0; p < peers.size(); ++p) {
      const Rank& rank = job.ranks[peers[p]];
      for (const Task& task : rank.tasks) {
        const uint32_t step = context.StepOf(rank, task.step);
        if (step != kNone && task.work == Work::kCompute && task.kind != kNone && of_experts[task.kind])
          ns[p][step - context.first] += static_cast<double>(task.end - task.begin);
      }
    }
    const double least = context.Get("moe.max_over_mean");
    Finding finding;
    Table table{"time of experts in a step", {"step", "mean_ms", "busiest_rank", "busiest_ms", "ratio"}, {}};
    std::vector<double> ratios, means(context.steps());
    for (size_t i = 0; i < context.steps(); ++i) {
      size_t busiest = 0;
      for (size_t p = 0; p < peers.size(); ++p) {
        means[i] += ns[p][i] / static_cast<double>(peers.size());
        if (ns[p][i] > ns[busiest][i]) busiest = p;
      }
      if (means[i] <= 0) continue;
      const double ratio = ns[busiest][i] / means[i];
      ratios.push_back(ratio);
      if (ratio < least) continue;
      finding.steps.push_back(static_cast<uint32_t>(context.first + i));
      if (table.rows.size() < 50)
        table.rows.push_back({job.steps[context.first + i], means[i] / 1e6, job.ranks[peers[busiest]].number,
                              ns[busiest][i] / 1e6, ratio});
    }
    // One that has more in each step has more work: rank.work tells of it.
    std::vector<double> totals;
    for (const auto& of : ns) totals.push_back(Mean(of));
    const bool is_one = Quantile(totals, 1) >= (1 + (least - 1) / 2) * Median(totals);
    if (Median(ratios) < least || is_one) continue;
    finding.id = "moe.imbalance";
    finding.key = "moe.imbalance/" + std::to_string(job.ranks[peers.front()].number);
    char text[32];
    std::snprintf(text, sizeof text, "%.1f x", Median(ratios));
    finding.title = "experts are uneven: in a step the busiest of " + std::to_string(peers.size()) +
                    " ranks computes " + text + " their mean";
    for (const uint32_t peer : peers) finding.where.ranks.push_back(job.ranks[peer].number);
    finding.evidence.push_back(std::move(table));
    finding.advice = {"limit an expert's tokens (capacity), or weigh the loss of balance more"};
    finding.factors = {Occurrences(finding.steps.size())};
    finding.without = [peers, ns, means, of_experts, &context](const Replay& replay, Lengths& lengths) {
      for (size_t p = 0; p < peers.size(); ++p) {
        const Rank& rank = replay.job().ranks[peers[p]];
        Lengths::OfRank& of = replay.Touch(lengths, peers[p]);
        for (size_t i = 0; i < rank.tasks.size(); ++i) {
          const Task& task = rank.tasks[i];
          const uint32_t step = context.StepOf(rank, task.step);
          if (step == kNone || task.work != Work::kCompute || task.kind == kNone || !of_experts[task.kind])
            continue;
          const size_t at = step - context.first;
          if (ns[p][at] > 0)
            of.task[i] = std::llround(static_cast<double>(of.task[i]) * means[at] / ns[p][at]);
        }
      }
    };
    found.findings.push_back(std::move(finding));
  }
}

}  // namespace profd::analyze
