// Short kernels that follow each other again and again, with much of their time between them: one kernel
// could do what they do.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 20;
constexpr size_t kMostKernels = 16;  // that one is asked to do the work of
constexpr Ns kLongestGap = 50'000;   // that is still between two of a row
constexpr Ns kLeastPause = 20'000;   // a device that waits for so long waits for something: device.wait

bool Follows(const Task& before, const Task& task) {
  if (task.step != before.step || task.begin < before.end || task.begin - before.end >= kLongestGap)
    return false;
  // Nothing was called between the two launches.
  return before.launch == kNone || task.launch == kNone ? before.launch == task.launch
                                                        : task.launch == before.launch + 1;
}

// `take` gets each row of short kernels, as indexes in Rank::tasks.
template <typename Take>
void ForEachRow(const Context& context, const Rank& rank, Ns longest, Take take) {
  std::vector<std::vector<uint32_t>> lanes(rank.lanes);
  const auto end = [&take](std::vector<uint32_t>& row) {
    if (row.size() > 1) take(row);
    row.clear();
  };
  for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
    const Task& task = rank.tasks[i];
    if (task.work == Work::kCollective) continue;
    std::vector<uint32_t>& row = lanes[task.lane];
    const bool is_short = task.work == Work::kCompute && task.kind != kNone &&
                          context.StepOf(rank, task.step) != kNone && task.end - task.begin < longest;
    if (!row.empty() && (!is_short || row.size() == kMostKernels || !Follows(rank.tasks[row.back()], task)))
      end(row);
    if (is_short) row.push_back(i);
  }
  for (std::vector<uint32_t>& row : lanes) end(row);
}

// Rows of the same kernels.
struct Rows {
  std::vector<double> shares;  // of each: of its time that lies between its kernels
  double busy = 0, between = 0;
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> all;  // rank, tasks
  double share() const { return Median(shares); }
};

// "Mul, Add, Mul, …".
std::string NamesOf(const Job& job, const std::vector<uint32_t>& kinds, size_t most) {
  std::string names;
  for (size_t i = 0; i < std::min(kinds.size(), most); ++i)
    names += (i == 0 ? "" : ", ") + std::string(job.Text(job.classes[kinds[i]].type));
  return kinds.size() > most ? names + ", …" : names;
}

// As if the first launch and the first begin were all that there are.
void Join(const Replay& replay, Lengths& lengths, uint32_t r, const std::vector<uint32_t>& tasks) {
  const Rank& rank = replay.job().ranks[r];
  Lengths::OfRank& of = replay.Touch(lengths, r);
  of.no_call.resize(rank.calls.size());
  for (size_t i = 1; i < tasks.size(); ++i) {
    if (const Ns kept = replay.Kept(r, tasks[i]); kept > 0 && kept < kLeastPause)
      of.task_less[tasks[i]] = std::max(of.task_less[tasks[i]], kept);
    const uint32_t call = rank.tasks[tasks[i]].launch;
    if (call == kNone) continue;
    of.no_call[call] = true;
    const Ns gap = rank.calls[call].begin - rank.calls[call - 1].end;
    if (gap > 0 && replay.PauseOf(r, call) == kNone) of.call_less[call] = std::max(of.call_less[call], gap);
  }
}

}  // namespace

void FindFusible(const Context& context, Found& found) {
  const Job& job = context.job;
  const auto longest = static_cast<Ns>(context.Get("kernel.fusible_us") * 1e3);
  std::map<std::vector<uint32_t>, Rows> sequences;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    ForEachRow(context, rank, longest, [&](const std::vector<uint32_t>& row) {
      std::vector<uint32_t> kinds;
      double busy = 0;
      for (const uint32_t task : row) {
        kinds.push_back(rank.tasks[task].kind);
        busy += static_cast<double>(rank.tasks[task].end - rank.tasks[task].begin);
      }
      const auto whole = static_cast<double>(rank.tasks[row.back()].end - rank.tasks[row.front()].begin);
      if (whole <= 0) return;
      Rows& rows = sequences[std::move(kinds)];
      rows.shares.push_back(1 - busy / whole);
      rows.busy += busy;
      rows.between += whole - busy;
      rows.all.emplace_back(r, row);
    });
  }
  std::erase_if(sequences, [&](const auto& entry) {
    const Rows& rows = entry.second;
    return static_cast<double>(rows.all.size()) < context.Get("kernel.fusible_count") ||
           rows.share() < context.Get("kernel.fusible_percent") / 100;
  });
  if (sequences.empty()) return;
  std::vector<const std::pair<const std::vector<uint32_t>, Rows>*> order;
  order.reserve(sequences.size());
  for (const auto& entry : sequences) order.push_back(&entry);
  std::ranges::stable_sort(order, std::greater(), [](const auto* entry) { return entry->second.between; });
  Table table{"short kernels that follow each other",
              {"types", "kernels", "count", "mean_busy_us", "mean_between_us", "between_ms"},
              {}};
  std::set<uint32_t> ranks, steps;
  for (const auto* entry : order) {
    const auto& [kinds, rows] = *entry;
    const auto count = static_cast<double>(rows.all.size());
    if (table.rows.size() < kMostRows)
      table.rows.push_back({NamesOf(job, kinds, kMostKernels), static_cast<int64_t>(kinds.size()),
                            static_cast<int64_t>(rows.all.size()), rows.busy / 1e3 / count,
                            rows.between / 1e3 / count, rows.between / 1e6});
    for (const auto& [r, row] : rows.all) {
      ranks.insert(r);
      steps.insert(context.StepOf(job.ranks[r], job.ranks[r].tasks[row.front()].step));
    }
  }
  const auto& [kinds, rows] = *order.front();
  Finding finding;
  finding.id = "kernel.fusible";
  finding.key = "kernel.fusible";
  finding.title = std::to_string(kinds.size()) + " short kernels follow each other (" +
                  NamesOf(job, kinds, 3) + "): " + PercentOf(rows.share()) +
                  " of their time lies between them" +
                  (order.size() > 1 ? "; " + std::to_string(order.size() - 1) + " more rows like that" : "");
  finding.where = WhereOf(job, {ranks.begin(), ranks.end()});
  finding.steps = {steps.begin(), steps.end()};
  finding.evidence.push_back(std::move(table));
  finding.advice = {
      "let one kernel do it: a fused operator of the framework, a compiled graph, or an operator of your "
      "own"};
  finding.cost.method = Method::kHeuristic;
  finding.factors = {{"method", 0.6, "up to: as if each row of them were launched once, and took no longer"}};
  std::vector<std::pair<uint32_t, std::vector<uint32_t>>> all;
  for (auto& [key, of] : sequences) std::ranges::move(of.all, std::back_inserter(all));
  finding.without = [all = std::move(all)](const Replay& replay, Lengths& lengths) {
    for (const auto& [r, tasks] : all) Join(replay, lengths, r, tasks);
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
