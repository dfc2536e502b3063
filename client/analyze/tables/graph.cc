// What the host does in each step before compiled graphs run.
#include <algorithm>
#include <limits>
#include <map>

#include "client/analyze/model/graph_head.h"
#include "client/analyze/tables/tables.h"

namespace profd::analyze {
namespace {

constexpr std::array<std::string_view, kGraphHeads.size()> kParts = {"inputs in Python", "lists of tensors",
                                                                     "graph engine"};
constexpr double kMs = 1e6;

// Of a rank's step.
struct OfStep {
  int64_t graphs = 0;
  std::array<Ns, kGraphHeads.size()> covered = {};
  Ns begin = std::numeric_limits<Ns>::max(), end = 0;  // of all of them
  Ns first_task = -1;                                  // behind the begin
  TextId inside = 0;                                   // the longest range in them that is none of them
  Ns inside_ns = 0;

  std::array<Ns, kGraphHeads.size()> parts() const { return GraphParts(covered); }
  Ns whole() const { return *std::ranges::max_element(covered); }
};

uint32_t StepAt(const Rank& rank, Ns at) {
  const auto behind = std::ranges::upper_bound(rank.steps, at, {}, &Step::begin);
  if (behind == rank.steps.begin() || std::prev(behind)->end < at) return kNone;
  return static_cast<uint32_t>(std::prev(behind) - rank.steps.begin());
}

std::map<uint32_t, OfStep> StepsOf(const Job& job, const Rank& rank) {
  std::map<uint32_t, OfStep> steps;
  std::array<Ns, kGraphHeads.size()> until =
      {};                         // of each head the end of the latest one: those in it are it
  std::map<uint64_t, Ns> within;  // by thread: the end of the latest head
  for (const Range& range : rank.ranges) {
    const uint32_t at = StepAt(rank, range.begin);
    if (at == kNone) continue;
    const std::optional<size_t> head = GraphHeadOf(job.Text(range.name));
    if (!head) {
      const auto around = within.find(range.thread);
      if (around == within.end() || range.end > around->second) continue;
      OfStep& of = steps[at];
      if (range.end - range.begin > of.inside_ns)
        of.inside_ns = range.end - range.begin, of.inside = range.name;
      continue;
    }
    if (range.begin < until[*head]) continue;
    until[*head] = range.end;
    Ns& around = within[range.thread];
    OfStep& of = steps[at];
    if (range.begin >= around) ++of.graphs;
    around = std::max(around, range.end);
    of.covered[*head] += range.end - range.begin;
    of.begin = std::min(of.begin, range.begin);
    of.end = std::max(of.end, range.end);
  }
  for (auto& [at, of] : steps) {
    const auto task = std::ranges::lower_bound(rank.tasks, of.begin, {}, &Task::begin);
    if (task != rank.tasks.end() && task->begin <= rank.steps[at].end) of.first_task = task->begin - of.begin;
  }
  std::erase_if(steps, [](const auto& step) { return step.second.graphs == 0; });
  return steps;
}

double Ms(Ns ns) { return static_cast<double>(ns) / kMs; }

std::string LongestPart(const std::array<Ns, kGraphHeads.size()>& parts) {
  return std::string(kParts[static_cast<size_t>(std::ranges::max_element(parts) - parts.begin())]);
}

// Of all steps of a rank, each column by itself.
void AddSums(Table& table, const Rank& rank, const std::map<uint32_t, OfStep>& steps) {
  std::array<std::vector<Ns>, kGraphHeads.size() + 1> columns;
  for (const auto& [at, of] : steps) {
    const auto parts = of.parts();
    for (size_t i = 0; i < parts.size(); ++i) columns[i].push_back(parts[i]);
    columns.back().push_back(of.whole());
  }
  for (std::vector<Ns>& column : columns) std::ranges::sort(column);
  for (const bool is_most : {false, true}) {
    std::array<Ns, kGraphHeads.size() + 1> of = {};
    for (size_t i = 0; i < columns.size(); ++i)
      of[i] = is_most ? columns[i].back() : columns[i][(columns[i].size() - 1) / 2];
    const std::array<Ns, kGraphHeads.size()> parts = {of[0], of[1], of[2]};
    table.rows.push_back({rank.number, std::string(is_most ? "most" : "median"), int64_t{0}, Ms(of[0]),
                          Ms(of[1]), Ms(of[2]), Ms(of[3]), std::numeric_limits<double>::quiet_NaN(),
                          of[3] == 0 ? 0.0 : 1.0, LongestPart(parts), std::string()});
  }
}

}  // namespace

Table GraphTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  Table table{"graph",
              {"rank", "step", "graphs", "python_ms", "lists_ms", "engine_ms", "head_ms", "first_task_ms",
               "of_median", "longest_part", "longest_inside"},
              {}};
  for (const Rank& rank : job.ranks) {
    const std::map<uint32_t, OfStep> steps = StepsOf(job, rank);
    if (steps.empty()) continue;
    std::vector<Ns> wholes;
    wholes.reserve(steps.size());
    for (const auto& [at, of] : steps) wholes.push_back(of.whole());
    std::ranges::sort(wholes);
    const Ns median = wholes[(wholes.size() - 1) / 2];
    for (const auto& [at, of] : steps) {
      const auto parts = of.parts();
      table.rows.push_back({rank.number, rank.steps[at].number, of.graphs, Ms(parts[0]), Ms(parts[1]),
                            Ms(parts[2]), Ms(of.whole()),
                            of.first_task < 0 ? std::numeric_limits<double>::quiet_NaN() : Ms(of.first_task),
                            median == 0 ? 0.0 : static_cast<double>(of.whole()) / static_cast<double>(median),
                            LongestPart(parts), std::string(job.Text(of.inside))});
    }
    AddSums(table, rank, steps);
  }
  return table;
}

}  // namespace profd::analyze
