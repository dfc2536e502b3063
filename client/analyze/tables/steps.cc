// Where the time of steps goes: shares, waits for others, what is hidden behind what.
#include <algorithm>
#include <map>

#include "client/analyze/model/intervals.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/tables/tables.h"

namespace profd::analyze {
namespace {

constexpr double kUs = 1e3;

double Us(Ns ns) { return static_cast<double>(ns) / kUs; }

// Numbers of steps are the program's; windows have the number of their second.
template <typename Row>
void EachStep(const Analysis& analysis, Row row) {
  for (size_t r = 0; r < analysis.job().ranks.size(); ++r) {
    const Rank& rank = analysis.job().ranks[r];
    for (size_t i = 0; i < rank.steps.size(); ++i) row(r, i, rank, analysis.context().shares[r][i]);
  }
}

// What of `of` none of `others` covers; both by begin.
Ns Uncovered(const std::vector<Interval>& of, const std::vector<Interval>& others) {
  Ns sum = 0, reached = INT64_MIN;
  size_t at = 0;
  for (const Interval& one : of) {
    Ns from = std::max(one.begin, reached);
    reached = std::max(reached, one.end);
    while (at < others.size() && others[at].end <= from) ++at;
    for (size_t i = at; i < others.size() && others[i].begin < one.end && from < one.end; ++i) {
      sum += std::max<Ns>(0, others[i].begin - from);
      from = std::max(from, others[i].end);
    }
    sum += std::max<Ns>(0, one.end - from);
  }
  return sum;
}

}  // namespace

Table StepsTable(const Analysis& analysis) {
  Table table{"steps",
              {"rank", "step", "step_us", "computing_us", "communication_not_overlapped_us", "overlapped_us",
               "communication_us", "free_us", "stage_us", "bubble_us",
               "communication_not_overlapped_and_exclude_receive_us", "preparing_us"},
              {}};
  EachStep(analysis, [&](size_t, size_t i, const Rank& rank, const StepShares& of) {
    table.rows.push_back({rank.number, rank.steps[i].number, Us(of.step), Us(of.computing), Us(of.exposed),
                          Us(of.overlapped), Us(of.communication), Us(of.free), Us(of.stage()), Us(of.bubble),
                          Us(of.exposed - of.bubble), Us(of.preparing)});
  });
  return table;
}

Table SummaryTable(const Analysis& analysis) {
  Table table{
      "summary",
      {"rank", "step", "step_us", "computing_us", "communication_not_overlapped_us", "overlapped_us",
       "communication_us", "free_us", "waiting_us", "transfer_us", "copies_us", "copies_not_overlapped_us"},
      {}};
  EachStep(analysis, [&](size_t, size_t i, const Rank& rank, const StepShares& of) {
    std::vector<Interval> copies, others;
    Ns waiting = 0, transfer = 0, copied = 0;
    for (const Task& task : rank.tasks) {
      if (task.step != i) continue;
      (task.work == Work::kCopy ? copies : others).push_back({task.begin, task.end});
      if (task.work == Work::kCopy) copied += task.end - task.begin;
      if (task.work != Work::kCollective) continue;
      const uint32_t match = rank.collectives[task.kind].match;
      const Ns length = task.end - task.begin;
      const Ns own = match == kNone ? length : std::min(length, analysis.context().replay.Transfer(match));
      transfer += own;
      waiting += length - own;
    }
    const Ns alone = Uncovered(Union(std::move(copies)), Union(std::move(others)));
    table.rows.push_back({rank.number, rank.steps[i].number, Us(of.step), Us(of.computing), Us(of.exposed),
                          Us(of.overlapped), Us(of.communication), Us(of.free - alone), Us(waiting),
                          Us(transfer), Us(copied), Us(alone)});
  });
  return table;
}

// Scores of 1: as fast as the best. Of a rank against others of the same work, and against its own best
// steps.
Table StragglersTable(const Analysis& analysis) {
  const Context& context = analysis.context();
  std::vector<double> compute(analysis.job().ranks.size());
  std::vector<std::vector<double>> by_step(compute.size());
  for (size_t r = 0; r < compute.size(); ++r) {
    const Rank& rank = analysis.job().ranks[r];
    for (size_t i = 0; i < rank.steps.size(); ++i) {
      if (context.StepOf(rank, static_cast<uint32_t>(i)) != kNone)
        by_step[r].push_back(static_cast<double>(context.shares[r][i].computing));
    }
    compute[r] = Median(by_step[r]);
  }
  Table table{"stragglers", {"rank", "node", "device", "compute_us", "against_best", "against_own_best"}, {}};
  for (size_t r = 0; r < compute.size(); ++r) {
    double best = compute[r];
    for (const uint32_t peer : context.peers[r]) {
      if (compute[peer] > 0) best = std::min(best, compute[peer]);
    }
    const double own_best = Quantile(by_step[r], 0.1);
    const Rank& rank = analysis.job().ranks[r];
    table.rows.push_back({rank.number, rank.node, int64_t{rank.device}, compute[r] / kUs,
                          compute[r] > 0 ? best / compute[r] : 1.0,
                          compute[r] > 0 ? own_best / compute[r] : 1.0});
  }
  return table;
}

Table OverlapTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  Table table{"overlap",
              {"rank", "step", "role", "step_us", "communication_us", "part_of_step", "not_overlapped_us",
               "part_not_overlapped"},
              {}};
  EachStep(analysis, [&](size_t, size_t i, const Rank& rank, const StepShares& of) {
    std::map<std::string, std::vector<Interval>> by_role;
    std::vector<Interval> kernels;
    for (const Task& task : rank.tasks) {
      if (task.step != i || task.work == Work::kCopy) continue;
      if (task.work != Work::kCollective) {
        kernels.push_back({task.begin, task.end});
        continue;
      }
      const std::string group(job.Text(rank.collectives[task.kind].group));
      const auto known = rank.groups.find(group);
      const bool has_role = known != rank.groups.end() && !known->second.role.empty();
      by_role[has_role ? known->second.role : group].push_back({task.begin, task.end});
    }
    kernels = Union(std::move(kernels));
    for (auto& [role, intervals] : by_role) {
      const std::vector<Interval> joined = Union(std::move(intervals));
      Ns all = 0;
      for (const Interval& one : joined) all += one.end - one.begin;
      const Ns alone = Uncovered(joined, kernels);
      const auto part = [](Ns some, Ns whole) {
        return whole > 0 ? static_cast<double>(some) / static_cast<double>(whole) : 0.0;
      };
      table.rows.push_back({rank.number, rank.steps[i].number, role, Us(of.step), Us(all), part(all, of.step),
                            Us(alone), part(alone, all)});
    }
  });
  return table;
}

}  // namespace profd::analyze
