#include "client/analyze/rules/context.h"

#include <algorithm>
#include <cstdio>
#include <map>

#include "client/analyze/model/parallel.h"
#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

// How many kernels of each type a rank runs; ranks of one role in a job have the same.
std::map<TextId, size_t> WorkOf(const Context& context, const Rank& rank) {
  std::map<TextId, size_t> work;
  std::vector<size_t> by_class(context.job.classes.size());
  for (const Task& task : rank.tasks) {
    if (task.work == Work::kCompute && task.kind != kNone && context.StepOf(rank, task.step) != kNone)
      ++by_class[task.kind];
  }
  for (size_t i = 0; i < by_class.size(); ++i) {
    if (by_class[i] > 0) work[context.job.classes[i].type] += by_class[i];
  }
  return work;
}

double InCommon(const std::map<TextId, size_t>& one, const std::map<TextId, size_t>& other) {
  size_t both = 0, all = 0;
  for (const auto& [type, count] : one) {
    const auto found = other.find(type);
    const size_t there = found == other.end() ? 0 : found->second;
    both += std::min(count, there);
    all += std::max(count, there);
  }
  for (const auto& [type, count] : other) all += one.contains(type) ? 0 : count;
  return all == 0 ? 1 : static_cast<double>(both) / static_cast<double>(all);
}

}  // namespace

Context MakeContext(const Job& job, const Matches& matches, const Clocks& clocks, const Replay& replay,
                    const Settings& settings, unsigned jobs) {
  Context context{job, matches, clocks, replay, settings, 0, {}, 0, 0, {}, {}};
  const auto skip = static_cast<size_t>(settings.Get("general.skip_first_steps"));
  if (job.has_steps && job.steps.size() > skip) context.first = skip;
  const Replay::Outcome& measured = replay.Measured();
  context.step_times = measured.Times(context.first);
  context.step_ns = measured.Mean(context.first);
  context.median_step_ns = Median(context.step_times);
  context.shares.resize(job.ranks.size());
  std::vector<std::map<TextId, size_t>> work(job.ranks.size());
  ForEach(job.ranks.size(), jobs, [&](size_t i) {
    context.shares[i] = SharesOf(job, job.ranks[i]);
    work[i] = WorkOf(context, job.ranks[i]);
  });
  // The first rank of a role stands for it.
  const double enough = settings.Get("rank.same_work_percent") / 100;
  std::vector<uint32_t> leaders;
  std::map<uint32_t, std::vector<uint32_t>> roles;
  for (uint32_t i = 0; i < job.ranks.size(); ++i) {
    const auto same = std::ranges::find_if(
        leaders, [&](uint32_t leader) { return InCommon(work[leader], work[i]) >= enough; });
    const uint32_t leader = same == leaders.end() ? i : *same;
    if (same == leaders.end()) leaders.push_back(i);
    roles[leader].push_back(i);
  }
  context.peers.resize(job.ranks.size());
  for (const auto& [leader, members] : roles) {
    for (const uint32_t member : members) context.peers[member] = members;
  }
  return context;
}

std::vector<uint32_t> StepsOfCalls(const Context& context, const Rank& rank) {
  std::vector<uint32_t> steps(rank.calls.size(), kNone);
  size_t at = 0;
  for (size_t i = 0; i < rank.calls.size(); ++i) {
    while (at < rank.steps.size() && rank.steps[at].end <= rank.calls[i].begin) ++at;
    if (at < rank.steps.size() && rank.steps[at].begin <= rank.calls[i].begin)
      steps[i] = context.StepOf(rank, static_cast<uint32_t>(at));
  }
  return steps;
}

std::string VariableOf(const Context& context, const std::string& name) {
  for (const Rank& rank : context.job.ranks) {
    if (const auto known = rank.environment.find(name); known != rank.environment.end()) return known->second;
  }
  return "";
}

std::string RankName(const Rank& rank) {
  return "rank " + std::to_string(rank.number) + " (" + (rank.node.empty() ? "" : rank.node + ", ") +
         "device " + std::to_string(rank.device) + ")";
}

Where WhereOf(const Rank& rank) {
  Where where;
  where.ranks = {rank.number};
  if (!rank.node.empty()) where.nodes = {rank.node};
  where.devices = {rank.device};
  return where;
}

std::string Time(double ns) {
  char text[32];
  const double us = ns / 1000, ms = us / 1000;
  if (ms >= 10'000) {
    std::snprintf(text, sizeof text, "%.1f s", ms / 1000);
  } else if (ms >= 100) {
    std::snprintf(text, sizeof text, "%.0f ms", ms);
  } else if (ms >= 1) {
    std::snprintf(text, sizeof text, "%.1f ms", ms);
  } else {
    std::snprintf(text, sizeof text, "%.0f us", us);
  }
  return text;
}

}  // namespace profd::analyze
