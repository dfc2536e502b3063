#include "client/analyze/reading/damage/gaps.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "base/join.h"
#include "client/analyze/model/groups.h"
#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

// Of a rank in a group: collectives by step.
using Counts = std::map<uint32_t, std::map<uint32_t, size_t>>;

// By group. What nobody in a group goes on behind is not counted: who never comes to it keeps the others
// waiting for ever, and has lost nothing.
std::map<TextId, Counts> CountCollectives(const Job& job) {
  std::map<TextId, Counts> groups;
  std::map<TextId, Ns> last;  // begin of the last thing that any of its ranks does
  for (const auto& [group, members] : MembersOf(job)) {
    Ns& of = last[group] = INT64_MIN;
    for (const uint32_t r : members.ranks) {
      groups[group].try_emplace(r);
      if (!job.ranks[r].tasks.empty()) of = std::max(of, job.ranks[r].tasks.back().begin);
    }
  }
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    for (const Collective& collective : rank.collectives) {
      const uint32_t step = collective.step == kNone ? kNone : rank.job_step[collective.step];
      if (step != kNone && collective.end < last[collective.group]) ++groups[collective.group][r][step];
    }
  }
  return groups;
}

// One that a rank never comes to is a hang, and no loss.
constexpr size_t kFewest = 2;

// Steps of which each rank has all that it ever had: not those in which the recording of one may have begun
// or ended a moment before another's. Who begins or ends long apart from the others has lost the rest.
struct Range {
  size_t from = 0, to = 0;
};
Range WholeSteps(const Counts& counts, size_t steps) {
  constexpr size_t kEdge = 10;  // of so many steps one at each end, at least one
  const size_t most = std::max<size_t>(1, steps / kEdge);
  size_t begin = 0, end = steps;
  for (const auto& [r, own] : counts) {
    if (own.empty()) continue;
    begin = std::max<size_t>(begin, own.begin()->first + 1);
    end = std::min<size_t>(end, own.rbegin()->first);
  }
  return {begin <= most ? begin : 1, steps - end <= most ? end : steps - std::min<size_t>(steps, 1)};
}

void GapsOfCollectives(Job& job) {
  std::vector<size_t> missing(job.ranks.size()), expected(job.ranks.size());
  std::set<uint32_t> with;  // ranks that have any
  for (const auto& [group, counts] : CountCollectives(job)) {
    for (const auto& [r, own] : counts) {
      if (!own.empty()) with.insert(r);
    }
    if (counts.size() < 2) continue;
    std::map<uint32_t, std::vector<size_t>> by_step;
    for (const auto& [r, own] : counts) {
      for (const auto& [step, count] : own) by_step[step].push_back(count);
    }
    const Range whole = WholeSteps(counts, job.steps.size());
    for (auto& [step, of] : by_step) {
      if (step < whole.from || step >= whole.to) continue;
      of.resize(counts.size(), 0);
      std::ranges::sort(of);
      const size_t usual = of[of.size() / 2];  // of two the greater one
      for (const auto& [r, own] : counts) {
        const auto at = own.find(step);
        const size_t had = at == own.end() ? 0 : at->second;
        expected[r] += usual;
        missing[r] += usual - std::min(usual, had);
      }
    }
  }
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    double& gap = job.ranks[r].gaps.collectives;
    gap = missing[r] < kFewest ? 0 : static_cast<double>(missing[r]) / static_cast<double>(expected[r]);
    if (job.ranks[r].collectives.empty() && 2 * with.size() > job.ranks.size()) gap = 1;
  }
}

// Kernels whose shapes are not told, and what has no kernel at all.
void GapsOfKernels(Job& job) {
  std::vector<double> shapeless;
  size_t with = 0;
  for (const Rank& rank : job.ranks) {
    size_t kernels = 0, without = 0;
    for (const Task& task : rank.tasks) {
      if (task.work != Work::kCompute || task.kind == kNone) continue;
      ++kernels;
      without += job.classes[task.kind].shapes == 0 ? 1 : 0;
    }
    with += kernels > 0 ? 1 : 0;
    shapeless.push_back(kernels == 0 ? -1 : static_cast<double>(without) / static_cast<double>(kernels));
  }
  const double usual = Median(shapeless);
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const bool has_none = shapeless[r] < 0 && 2 * with > job.ranks.size();
    if (has_none || shapeless[r] > usual + 0.5) job.ranks[r].gaps.kernels = 1;
  }
}

// Who is in groups of these ranks, as they say, and is not here.
void TellAbsent(Job& job) {
  std::set<int64_t> absent;
  for (const auto& [group, members] : MembersOf(job))
    absent.insert(members.absent.begin(), members.absent.end());
  if (absent.empty()) return;
  constexpr size_t kMostNamed = 8;
  std::vector<int64_t> named(absent.begin(), absent.end());
  named.resize(std::min(named.size(), kMostNamed));
  job.notes.push_back(
      {"",
       (absent.size() == 1 ? "rank " : "ranks ") + base::Joined(named, ",") +
           (absent.size() > kMostNamed ? ",… (" + std::to_string(absent.size()) + ")" : "") +
           (absent.size() == 1 ? " is" : " are") +
           " in groups of these ranks and not recorded: who is late is judged among the others",
       false});
}

std::string Share(double share) {
  return share > 0.995 ? "all" : std::to_string(std::max(1L, std::lround(100 * share))) + " %";
}

}  // namespace

// Numbers that a rank skips, and others have; and tasks that are in no step.
void FindStepGaps(Job& job) {
  std::map<int64_t, size_t> count;
  std::vector<double> outside;
  size_t with = 0;
  Ns first = INT64_MAX, last = INT64_MIN;  // what lies outside of all steps has lost none
  for (const Rank& rank : job.ranks) {
    with += rank.steps.empty() ? 0 : 1;
    for (const Step& step : rank.steps) ++count[step.number];
    if (rank.steps.empty()) continue;
    first = std::min(first, rank.steps.front().begin);
    last = std::max(last, rank.steps.back().end);
  }
  for (const Rank& rank : job.ranks) {
    const auto tasks = std::ranges::count_if(rank.tasks, [&](const Task& task) {
      return task.step == kNone && task.begin >= first && task.begin < last;
    });
    outside.push_back(static_cast<double>(tasks) /
                      static_cast<double>(std::max<size_t>(rank.tasks.size(), 1)));
  }
  const double usual = Quantile(outside, job.ranks.size() > 2 ? 0.5 : 0.0);
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    Rank& rank = job.ranks[r];
    if (rank.steps.empty()) {
      rank.gaps.steps = with > 0 ? 1 : 0;
      continue;
    }
    std::set<int64_t> own;
    for (const Step& step : rank.steps) own.insert(step.number);
    size_t skipped = 0;
    for (auto at = count.lower_bound(*own.begin()); at != count.end() && at->first <= *own.rbegin(); ++at)
      skipped += !own.contains(at->first) && 2 * at->second >= with ? 1 : 0;
    rank.gaps.steps = std::max(static_cast<double>(skipped) / static_cast<double>(skipped + own.size()),
                               outside[r] - usual - Gaps::kMost);
  }
}

void FindGaps(Job& job) {
  for (Rank& rank : job.ranks) {
    if (!rank.lost.empty()) rank.gaps.launched = 0;  // data.loss says when
  }
  // What is usual is how they are recorded. With two of them the one that has less of it is whole.
  const auto take_usual = [&job](double Gaps::*gap) {
    std::vector<double> all;
    for (const Rank& rank : job.ranks) all.push_back(rank.gaps.*gap);
    const double usual = Quantile(std::move(all), job.ranks.size() > 2 ? 0.5 : 0.0);
    for (Rank& rank : job.ranks) rank.gaps.*gap = std::max(0.0, rank.gaps.*gap - usual);
  };
  for (double Gaps::*gap : {&Gaps::calls, &Gaps::launched, &Gaps::crossed}) take_usual(gap);
  if (job.ranks.size() > 1) take_usual(&Gaps::kernels);
  const auto have = [&job](bool Gaps::*gap) {
    return static_cast<size_t>(
        std::ranges::count_if(job.ranks, [gap](const Rank& rank) { return rank.gaps.*gap; }));
  };
  const bool is_torn_usual = 2 * have(&Gaps::torn) >= job.ranks.size(),
             is_apart_usual = job.ranks.size() > 1 && 2 * have(&Gaps::apart) > job.ranks.size();
  for (Rank& rank : job.ranks) {
    rank.gaps.torn = rank.gaps.torn && !is_torn_usual;
    rank.gaps.apart = rank.gaps.apart && !is_apart_usual;
  }
  GapsOfKernels(job);
  GapsOfCollectives(job);
  for (const Rank& rank : job.ranks) {
    const Gaps& gaps = rank.gaps;
    if (!gaps.any()) continue;
    std::string what, sense;
    const auto add = [&what](double share, const char* of) {
      if (share > Gaps::kMost) what += (what.empty() ? "" : ", ") + Share(share) + " of its " + of;
    };
    add(gaps.kernels, "kernels or of their names");
    add(gaps.collectives, "collectives");
    add(gaps.calls, "calls that launch");
    add(gaps.steps, "steps");
    if (what.empty()) add(gaps.launched, "launched tasks");
    if (gaps.apart) sense = "its tasks are at other times than the calls that launched them";
    if (const double crossed = std::max(gaps.crossed, gaps.piled); sense.empty() && crossed > Gaps::kMost)
      sense = Share(crossed) + " of its kernels begin before those in front of them have ended";
    if (what.empty() && sense.empty()) sense = "its data are torn";
    job.notes.push_back(
        {rank.source,
         "rank " + std::to_string(rank.number) + ": " +
             (what.empty() ? "" : what + " cannot be read" + (sense.empty() ? "" : "; ")) + sense +
             (job.ranks.size() == 1 ? ": nothing is said of it"
                                    : ": it is compared with no other rank, and nothing is said of it alone"),
         true});
  }
  TellAbsent(job);
}

}  // namespace profd::analyze
