// What all rules look at.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client/analyze/model/columns.h"
#include "client/analyze/model/findings.h"
#include "client/analyze/model/match/clocks.h"
#include "client/analyze/model/replay/replay.h"
#include "client/analyze/model/settings.h"
#include "client/analyze/model/time_model.h"

namespace profd::analyze {

// Ranks that communicate under one name.
struct GroupOf {
  std::string role;             // as the framework says, "" = not known
  std::vector<uint32_t> ranks;  // indexes in Job::ranks of those that use it, ascending
  size_t nodes = 0;             // that these are on
};

struct Context {
  const Job& job;
  const Matches& matches;
  const Clocks& clocks;
  const Replay& replay;
  const Settings& settings;
  size_t first = 0;              // step that is analysed
  std::vector<Ns> step_times;    // of those from it on, what passes from one end to the next
  double step_ns = 0;            // their mean
  std::vector<Ns> step_lengths;  // of the same, how long they are themselves (Replay::Outcome::length)
  double median_step_ns = 0;     // of these
  std::map<TextId, GroupOf> groups;
  std::vector<int> stage;  // by rank: its place in a pipeline, -1 = it is in none
  // By rank: those of the same work and stage, it included, and those that should have the same and have
  // more.
  std::vector<std::vector<uint32_t>> peers;
  std::vector<std::vector<StepShares>> shares;

  double Get(std::string_view key) const { return settings.Get(key); }
  size_t steps() const { return job.steps.size() - first; }
  // The step of a task or a call's task in Job::steps, kNone: not analysed.
  uint32_t StepOf(const Rank& rank, uint32_t step) const {
    if (step == kNone) return kNone;
    const uint32_t shared = rank.job_step[step];
    return shared != kNone && shared >= first ? shared : kNone;
  }
};

Context MakeContext(const Job& job, const Matches& matches, const Clocks& clocks, const Replay& replay,
                    const Settings& settings, unsigned jobs);

// The step of each call in Job::steps, kNone: not of one that is analysed.
std::vector<uint32_t> StepsOfCalls(const Context& context, const Rank& rank);
// A variable of the environment of one of the ranks; "" = not set, or not known.
std::string VariableOf(const Context& context, const std::string& name);

std::vector<uint32_t> AllSteps(const Context& context);

// "rank 5 (host0, device 5)".
std::string RankName(const Rank& rank);
// "0-7", "1,5", "12 ranks from 3": of numbers of ranks, recorded or not, that differ.
std::string NumberList(std::vector<int64_t> numbers);
// The same of indexes in Job::ranks.
std::string RankList(const Job& job, const std::vector<uint32_t>& ranks);
// "ranks 0-7"; of one its name.
std::string RanksName(const Job& job, const std::vector<uint32_t>& ranks);
// What ranks that should be alike take of a step: the mean of each one's `values`, ns by step.
Table TableOfMeans(const Context& context, std::string title, const std::vector<uint32_t>& ranks,
                   const std::vector<std::vector<double>>& values);
Where WhereOf(const Rank& rank);
Where WhereOf(const Job& job, const std::vector<uint32_t>& ranks);
// What was recorded, and costs nothing that a replay knows: of these ranks, in the steps that are `hit`.
Finding Fact(const Job& job, std::string id, Severity severity, const std::vector<uint32_t>& ranks,
             const std::vector<bool>& hit);
// "4.2 %", "12 %"; "1.5 x".
std::string PercentOf(double part);
std::string Times(double ratio);
// "3.2 ms", "850 us".
std::string Time(double ns);

}  // namespace profd::analyze
