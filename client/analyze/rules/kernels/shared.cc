// Another program computes on a rank's device, and the rank's kernels take longer beside it.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "client/analyze/model/intervals.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 20;
constexpr size_t kFewAlone = 5;  // kernels of a class that nothing ran beside, for a mean

// When others ran, without overlaps; by time.
std::vector<Interval> TimesOfOthers(const Rank& rank) {
  std::vector<Interval> times;
  times.reserve(rank.others.size());
  for (const OtherTask& other : rank.others) times.push_back({other.begin, other.end});
  return Union(std::move(times));
}

struct OfClass {
  std::vector<Ns> alone, beside;
  std::vector<uint32_t> tasks;  // of `beside`
};

Table ProcessTable(const Rank& rank) {
  std::map<uint64_t, std::pair<int64_t, Ns>> sums;
  for (const OtherTask& other : rank.others) {
    auto& [count, ns] = sums[other.process];
    ++count;
    ns += other.end - other.begin;
  }
  Table table{"other programs on the device", {"rank", "pid", "tasks", "total_ms"}, {}};
  for (const auto& [process, sum] : sums) {
    if (table.rows.size() < kMostRows)
      table.rows.push_back(
          {rank.number, static_cast<int64_t>(process), sum.first, static_cast<double>(sum.second) / 1e6});
  }
  return table;
}

}  // namespace

std::vector<Ns> BesideOthers(const Rank& rank) {
  if (rank.others.empty()) return {};
  const std::vector<Interval> times = TimesOfOthers(rank);
  std::vector<Ns> overlaps(rank.tasks.size());
  size_t first = 0;
  for (size_t i = 0; i < rank.tasks.size(); ++i) {
    const Task& task = rank.tasks[i];
    while (first < times.size() && times[first].end <= task.begin) ++first;
    for (size_t k = first; k < times.size() && times[k].begin < task.end; ++k)
      overlaps[i] += std::max<Ns>(0, std::min(times[k].end, task.end) - std::max(times[k].begin, task.begin));
  }
  return overlaps;
}

Shared SharedOf(const Context& context, uint32_t r) {
  const Rank& rank = context.job.ranks[r];
  Shared shared;
  if (rank.others.empty()) return shared;
  const std::vector<Ns> overlaps = BesideOthers(rank);
  std::map<uint32_t, OfClass> classes;
  double beside = 0;
  ForEachKernel(context, rank, [&](uint32_t i, const Task& task) {
    const Ns length = task.end - task.begin, overlap = overlaps[i];
    shared.computing += static_cast<double>(length);
    beside += static_cast<double>(overlap);
    OfClass& of = classes[task.kind];
    if (overlap == 0) {
      of.alone.push_back(length);
    } else if (2 * overlap >= length) {
      of.beside.push_back(length);
      of.tasks.push_back(i);
    }
  });
  shared.overlap = shared.computing > 0 ? beside / shared.computing : 0;
  shared.tables.push_back(ProcessTable(rank));
  Table table{"kernels beside another program's",
              {"rank", "type", "shapes", "alone", "beside", "alone_us", "beside_us"},
              {}};
  std::vector<std::pair<double, std::vector<Cell>>> rows;
  for (const auto& [kind, of] : classes) {
    if (of.alone.size() < kFewAlone || of.beside.empty()) continue;
    const double alone = Mean(of.alone), with = Mean(of.beside);
    if (with <= alone * (1 + context.Get("general.effect_percent") / 100)) continue;
    double sum = 0;
    for (size_t i = 0; i < of.tasks.size(); ++i) {
      const auto more = static_cast<Ns>(static_cast<double>(of.beside[i]) * (1 - alone / with));
      shared.more.emplace_back(of.tasks[i], more);
      sum += static_cast<double>(more);
    }
    shared.ns += sum;
    const KernelClass& key = context.job.classes[kind];
    rows.emplace_back(
        -sum,
        std::vector<Cell>{rank.number, std::string(context.job.Text(key.type)),
                          std::string(context.job.Text(key.shapes)), static_cast<int64_t>(of.alone.size()),
                          static_cast<int64_t>(of.beside.size()), alone / 1e3, with / 1e3});
  }
  std::ranges::stable_sort(rows, {}, [](const auto& row) { return row.first; });
  for (auto& [minus, row] : rows) {
    if (table.rows.size() < kMostRows) table.rows.push_back(std::move(row));
  }
  if (!table.rows.empty()) shared.tables.push_back(std::move(table));
  return shared;
}

std::string OtherPrograms(const Rank& rank) {
  const uint64_t first = rank.others.front().process;
  const bool is_one =
      std::ranges::all_of(rank.others, [&](const OtherTask& other) { return other.process == first; });
  return is_one ? "another program (pid " + std::to_string(first) + ") computes" : "other programs compute";
}

std::vector<std::pair<uint32_t, Shared>> SharedRanks(const Context& context) {
  std::vector<std::pair<uint32_t, Shared>> all;
  for (uint32_t r = 0; r < context.job.ranks.size(); ++r) {
    Shared shared = SharedOf(context, r);
    if (shared.ns > 0) all.emplace_back(r, std::move(shared));
  }
  return all;
}

// Of one rank among others like it that is late for it rank.late tells.
void FindShared(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<std::pair<uint32_t, Shared>> all = SharedRanks(context);
  if (!IsCommon(context, all.size())) return;
  Finding finding;
  std::vector<uint32_t> ranks;
  std::vector<bool> is_hit(job.steps.size());
  std::vector<std::pair<uint32_t, std::vector<std::pair<uint32_t, Ns>>>> more;
  double most = 0;
  for (auto& [r, shared] : all) {
    ranks.push_back(r);
    most = std::max(most, shared.overlap);
    for (const auto& [task, ns] : shared.more)
      is_hit[context.StepOf(job.ranks[r], job.ranks[r].tasks[task].step)] = true;
    if (finding.evidence.size() < kMostRows)
      std::ranges::move(shared.tables, std::back_inserter(finding.evidence));
    more.emplace_back(r, std::move(shared.more));
  }
  finding.id = "device.shared";
  finding.key = "device.shared/" + RankList(job, ranks);
  finding.title = RanksName(job, ranks) + ": " + OtherPrograms(job.ranks[ranks.front()]) +
                  " on the device for " + PercentOf(most) + " of the time of its kernels";
  finding.where = WhereOf(job, ranks);
  for (uint32_t step = 0; step < is_hit.size(); ++step) {
    if (is_hit[step]) finding.steps.push_back(step);
  }
  finding.advice = {kDoNotShare};
  finding.factors = {Occurrences(finding.steps.size()),
                     {"record", 0.9, "kernels of both programs are recorded"}};
  finding.without = [more = std::move(more)](const Replay& replay, Lengths& lengths) {
    for (const auto& [r, tasks] : more) Shorten(replay, lengths, r, tasks);
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
