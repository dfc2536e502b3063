// Hosts that launch too slowly.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <vector>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/host/stall_cause.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr double kHostThreshold = 0.10;  // of what other ranks' programs take: calls vary more than kernels

}  // namespace

// Between two calls, and in them, without stalls and without what they wait for.
void FindSlowHosts(const Context& context, Found& found) {
  const Job& job = context.job;
  // Longer pauses are of the program's own, and may be stalls.
  const auto longest = static_cast<Ns>(context.Get("host.gap_ms") * 1e6 / 4);
  std::vector<std::vector<Ns>> own(job.ranks.size());  // by call
  std::vector<std::vector<uint32_t>> steps(job.ranks.size());
  std::vector<std::vector<double>> by_step(job.ranks.size());
  bool any = false;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    by_step[r].resize(context.steps());
    if (rank.level < Level::kLaunches) continue;
    any = true;
    steps[r] = StepsOfCalls(context, rank);
    own[r].resize(rank.calls.size());
    for (size_t i = 1; i < rank.calls.size(); ++i) {
      if (steps[r][i] == kNone) continue;
      const Ns gap = rank.calls[i].begin - rank.calls[i - 1].end;
      const bool counts = gap > 0 && gap < longest && context.replay.PauseOf(r, i) == kNone;
      const Ns call = rank.calls[i - 1].kind == CallKind::kLaunch ? context.replay.OwnTime(r, i - 1) : 0;
      own[r][i] = (counts ? gap : 0) + (call < longest ? call : 0);
      by_step[r][steps[r][i] - context.first] += static_cast<double>(own[r][i]);
    }
  }
  if (!any) {
    found.not_run.push_back(
        {"host.launch", "no calls that launch are recorded (agent-api, or the framework's profiler)"});
    return;
  }
  std::map<std::vector<uint32_t>, bool> done;
  for (uint32_t first = 0; first < job.ranks.size(); ++first) {
    const std::vector<uint32_t>& peers = context.peers[first];
    if (peers.size() < 2 || own[first].empty() || !done.try_emplace(peers, true).second) continue;
    std::vector<double> means, noise;
    for (const uint32_t peer : peers) {
      means.push_back(Mean(by_step[peer]));
      const double middle = Median(by_step[peer]);
      for (const double value : by_step[peer]) noise.push_back(value - middle);
    }
    const double reference = Usual(means, kHostThreshold);
    if (reference <= 0) continue;
    std::vector<Late> all;
    for (const uint32_t r : peers) {
      std::vector<double> values;
      for (const double value : by_step[r]) values.push_back(value / reference - 1);
      const Excess excess = ExcessOf(context, values, Spread(noise) / reference, kHostThreshold);
      if (!excess.is_clear) continue;
      Late late = LateRank(
          context, r, "host", "host.launch", excess.mean,
          "its host takes " + Time(excess.mean * reference) + " more of a step to launch than others",
          excess.steps);
      Finding& finding = late.finding;
      finding.evidence.push_back(TableOfMeans(context, "time of the host between launches", peers, by_step));
      const std::string missing = MissingKinds(job.ranks[r]);
      finding.advice = {"see what else runs on the CPUs of its process" +
                        (missing.empty() ? "" : "; record --collect " + missing)};
      finding.factors = {Occurrences(excess.steps.size()),
                         {"cause", 0.8, "the slowness of its host is recorded, its reason is not"}};
      finding.without = [r, calls = own[r], step_of = steps[r], hits = excess.steps,
                         part = 1 - 1 / (1 + excess.mean)](const Replay& replay, Lengths& lengths) {
        Lengths::OfRank& of = replay.Touch(lengths, r);
        std::vector<bool> is_hit(replay.job().steps.size());
        for (const uint32_t step : hits) is_hit[step] = true;
        for (size_t i = 0; i < calls.size(); ++i) {
          if (step_of[i] != kNone && is_hit[step_of[i]])
            of.call_less[i] += std::llround(static_cast<double>(calls[i]) * part);
        }
      };
      all.push_back(std::move(late));
    }
    TellLate(context, peers.size(), std::move(all), found.findings);
  }
}

// The device has nothing in its queue for much of the time, and would be done sooner if it had.
void FindLaunchBound(const Context& context, Found& found) {
  const Job& job = context.job;
  size_t empty = 0, all = 0;
  Table table{"kernels that find the queue empty", {"rank", "kernels", "empty_queue", "ns_per_launch"}, {}};
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    if (rank.level < Level::kLaunches) continue;
    size_t own_empty = 0, own_all = 0;
    Ns reached = INT64_MIN;
    for (const Task& task : rank.tasks) {
      if (task.launch != kNone && task.work == Work::kCompute && context.StepOf(rank, task.step) != kNone) {
        ++own_all;
        const Ns come = rank.calls[task.launch].begin + context.replay.Latency(r);
        // Nor behind a call that waits until the device is done.
        const bool is_behind_sync =
            task.launch > 0 && rank.calls[task.launch - 1].kind == CallKind::kSynchronise;
        // Not behind a stall, which is a finding of its own; of the first task nobody knows.
        own_empty +=
            !is_behind_sync && reached != INT64_MIN && come >= reached && task.begin - reached < 200'000;
      }
      reached = std::max(reached, task.end);
    }
    std::vector<Ns> lengths;
    for (size_t i = 1; i < rank.calls.size(); ++i)
      lengths.push_back(rank.calls[i].begin - rank.calls[i - 1].begin);
    if (table.rows.size() < 50)
      table.rows.push_back(
          {rank.number, static_cast<int64_t>(own_all), static_cast<int64_t>(own_empty), Median(lengths)});
    empty += own_empty;
    all += own_all;
  }
  if (all == 0) return;
  const double share = static_cast<double>(empty) / static_cast<double>(all);
  if (share < context.Get("host.launch_bound_share") / 100) return;
  Finding finding;
  finding.id = "host.launch-bound";
  finding.key = "host.launch-bound";
  for (const Rank& rank : job.ranks) {
    if (finding.where.ranks.size() < 50) finding.where.ranks.push_back(rank.number);
  }
  char percent[16];
  std::snprintf(percent, sizeof percent, "%.0f %%", share * 100);
  finding.title = "the host launches too slowly: " + std::string(percent) +
                  " of the kernels find the queue of the device empty";
  finding.evidence.push_back(std::move(table));
  finding.steps = AllSteps(context);
  finding.advice = {"launch less: compile the graph, fuse small operators"};
  finding.factors = {{"data", 1, "every launch is recorded"}};
  if (const std::string level = VariableOf(context, "ASCEND_GLOBAL_LOG_LEVEL");
      level == "0" || level == "1") {
    finding.causes.push_back({"env.setting", 1});
    finding.advice.insert(finding.advice.begin(), "set ASCEND_GLOBAL_LOG_LEVEL=3: it is " + level +
                                                      ", and each call writes to a log");
  }
  finding.without = [&context](const Replay& replay, Lengths& lengths) {
    for (uint32_t r = 0; r < replay.job().ranks.size(); ++r) {
      const Rank& rank = replay.job().ranks[r];
      if (rank.level < Level::kLaunches) continue;
      Lengths::OfRank& of = replay.Touch(lengths, r);
      const std::vector<uint32_t> steps = StepsOfCalls(context, rank);
      for (size_t i = 1; i < rank.calls.size(); ++i) {
        const Ns gap = rank.calls[i].begin - rank.calls[i - 1].end;
        const Ns own = std::max<Ns>(gap, 0) +
                       (rank.calls[i - 1].kind == CallKind::kLaunch ? replay.OwnTime(r, i - 1) : 0);
        if (steps[i] == kNone || gap < 0 || gap >= 200'000 || replay.PauseOf(r, i) != kNone ||
            rank.calls[i].kind != CallKind::kLaunch)
          continue;
        of.call_less[i] = std::max(of.call_less[i], own);
      }
    }
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
