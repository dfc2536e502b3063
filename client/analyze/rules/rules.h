// The rules: each looks for one kind of cause and says what the job would be without it. What it costs, and
// whether that is worth a word, is decided for all of them in one place (judge.h).
#pragma once

#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "client/analyze/model/findings.h"
#include "client/analyze/rules/context.h"

namespace profd::analyze {

struct Found {
  std::vector<Finding> findings;
  std::vector<NotRun> not_run;
};

struct Rule {
  std::string_view id;
  std::string_view fires;                              // one line: when
  std::string_view needs;                              // of the data
  std::string_view cost;                               // how it is computed
  std::string_view advice;                             // one change or one look
  void (*find)(const Context& context, Found& found);  // nullptr: found by another rule, as its cause
};
// In the order of the catalogue.
std::span<const Rule> Rules();

void FindSlowCompute(const Context& context, Found& found);
void FindExtraWork(const Context& context, Found& found);
void FindSlowHosts(const Context& context, Found& found);
void FindStalls(const Context& context, Found& found);
void FindTails(const Context& context, Found& found);  // with them, behind the last launch
void FindLaunchBound(const Context& context, Found& found);
void FindSlowGroups(const Context& context, Found& found);
void FindSlowLinks(const Context& context, Found& found);
void FindSlowTransfers(const Context& context, Found& found);
void FindHangs(const Context& context, Found& found);
void FindAbsentRanks(const Context& context, Found& found);
void FindSyncs(const Context& context, Found& found);
void FindJitter(const Context& context, Found& found);
void FindUnevenExperts(const Context& context, Found& found);
void FindCopies(const Context& context, Found& found);
void FindPauses(const Context& context, Found& found);
void FindSlowing(const Context& context, Found& found);
void FindExposed(const Context& context, Found& found);
void FindLateGathers(const Context& context, Found& found);
void FindContention(const Context& context, Found& found);
void FindSmall(const Context& context, Found& found);
void FindUnaligned(const Context& context, Found& found);
void FindHeavyStages(const Context& context, Found& found);
void FindBubbles(const Context& context, Found& found);
void FindLostTime(const Context& context, Found& found);
void FindDeviceErrors(const Context& context, Found& found);
void FindLosses(const Context& context, Found& found);
void FindFragments(const Context& context, Found& found);
void FindLeaks(const Context& context, Found& found);
void FindAiCpu(const Context& context, Found& found);
void FindUnboundKernels(const Context& context, Found& found);
void FindIdleCores(const Context& context, Found& found);
void FindFusible(const Context& context, Found& found);
void FindShared(const Context& context, Found& found);
void FindConversions(const Context& context, Found& found);
void FindLowClocks(const Context& context, Found& found);

// A rank that makes others wait: everything of its finding but the title, which is "rank 5 (host0, device 5)
// is late: " and why.
struct Late {
  uint32_t rank = 0;
  double more = 0;   // by how much, to compare it with others that have the same cause
  std::string part;  // of its key
  std::string why;   // "its kernels take 12 % longer than on ranks like it"
  Finding finding;
};
Late LateRank(const Context& context, uint32_t rank, std::string part, std::string_view cause, double more,
              std::string why, std::vector<uint32_t> steps);
// A finding for each of them, or one for all that have the same cause where these are half of `peers` and
// more.
void TellLate(const Context& context, size_t peers, std::vector<Late> all, std::vector<Finding>& findings);

// What kernels take beyond what is usual of their class on the rank, where they take kernel.jitter_ratio
// times that and more.
struct Jitter {
  std::vector<std::pair<uint32_t, Ns>> more;  // task, ns
  double ns = 0;                              // sum
  double computing = 0;                       // of all kernels
  Table table;
};
// By class that each rank has too few kernels of for a median of its own: that of some ranks together, 0 =
// still too few.
std::vector<double> UsualOfRareKernels(const Context& context);
Jitter JitterOf(const Context& context, uint32_t rank, const std::vector<double>& usual_of_rare);
// Those in which it is worth a word, and whether so many have it that it makes nobody late.
std::vector<std::pair<uint32_t, Jitter>> JitteryRanks(const Context& context);
bool IsCommon(const Context& context, size_t jittery);

// What kernels take longer while another program computes on the rank's device.
struct Shared {
  std::vector<std::pair<uint32_t, Ns>> more;  // task, ns
  double ns = 0;                              // sum
  double computing = 0;                       // of all kernels
  double overlap = 0;                         // part of it in which another program computes
  std::vector<Table> tables;
};
// How long another program computed beside it, by task; empty: none did.
std::vector<Ns> BesideOthers(const Rank& rank);
Shared SharedOf(const Context& context, uint32_t rank);
// Those of whose kernels some take longer.
std::vector<std::pair<uint32_t, Shared>> SharedRanks(const Context& context);
// "another program (pid 7) computes": of a rank that has others.
std::string OtherPrograms(const Rank& rank);
inline constexpr const char* kDoNotShare = "end that program, or give the rank a device of its own";

// Kernels that only bring data into another form.
bool IsConversion(std::string_view type);
// What some steps, indexes in Job::steps, compute more than the others; no text: nothing clear.
struct Grown {
  std::string text;           // "more kernels run, most of type MatMulV2"
  std::string cause, advice;  // "" = nobody knows
  Table table;
};
Grown WhatGrown(const Context& context, const std::vector<uint32_t>& steps);

// Kernels of experts, which rule moe.imbalance looks at.
bool IsOfExperts(std::string_view type);

// Of a series by step: which steps stand out from `usual` by `threshold` and more, and how sure that is.
struct Excess {
  std::vector<uint32_t> steps;  // indexes in Job::steps
  double mean = 0;              // of those
  double error = 0;             // standard error of that mean
  bool is_clear = false;        // beyond the error and the least effect
};
// `values`: by step from context.first on, relative: 0.1 is 10 % more than usual. `noise`: of one value.
Excess ExcessOf(const Context& context, const std::vector<double>& values, double noise, double threshold);
// What no finding explains: of ranks that make others wait, and of steps that take longer than others, those
// that come again and single ones. Not among the rules: they look at what the others have found. `rest`:
// lengths of the steps that are analysed with all findings mended.
void FindUnexplainedRanks(const Context& context, std::vector<Finding>& findings);
void FindUnevenSteps(const Context& context, const std::vector<Ns>& rest, std::vector<Finding>& findings);
// An allocator of the framework held much more than was in use when most of it was, if there is one: why it
// asks for memory and gives it back. False: there is none.
bool AddFragments(const Context& context, const Rank& rank, Finding& finding);
// Records were lost in the steps of a finding, and of its ranks: it is less sure.
void WeighLosses(const Context& context, Finding& finding);
// Time between two steps: that no rank is in one.
struct Outside {
  uint32_t step = 0;  // the one behind, index in Job::steps
  Ns from = 0, to = 0;
};
std::vector<Outside> OutsideOf(const Context& context);
// It is so much that rule goodput tells of it, and no other one.
bool IsGoodputLow(const Context& context, const std::vector<Outside>& outside);

// A cost that no replay gives: at most so much over the steps that are analysed.
void SetBound(const Context& context, Finding& finding, double total_ns);
// As if the kernels of a rank took `factor` times as long, from a step in Job::steps on.
void ScaleComputing(const Context& context, const Replay& replay, Lengths& lengths, uint32_t rank,
                    double factor, size_t from_step = 0);
// As if tasks of a rank took so much less.
void Shorten(const Replay& replay, Lengths& lengths, uint32_t rank,
             const std::vector<std::pair<uint32_t, Ns>>& less);
// Kernels of some classes would take less: `left` is the part of its time that one of a class keeps on a
// rank. Says where they are and what the job would be without the rest of it. `is_hit`: by class in
// Job::classes.
void SetLess(const Context& context, std::vector<bool> is_hit,
             std::function<double(uint32_t kind, const Rank& rank)> left, Finding& finding);
// Kernels that compute, of the steps that are analysed. Of one rank: `take` gets each one's index in
// Rank::tasks, and it.
template <typename Take>
void ForEachKernel(const Context& context, const Rank& rank, Take take) {
  for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
    const Task& task = rank.tasks[i];
    if (task.work == Work::kCompute && task.kind != kNone && context.StepOf(rank, task.step) != kNone)
      take(i, task);
  }
}
// Of all: `take` gets each with its rank.
template <typename Take>
void ForEachKernel(const Context& context, Take take) {
  for (const Rank& rank : context.job.ranks)
    ForEachKernel(context, rank, [&](uint32_t, const Task& task) { take(rank, task); });
}
// How often something was seen, as a factor of confidence.
Factor Occurrences(size_t n);

}  // namespace profd::analyze
