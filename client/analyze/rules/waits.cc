// Time of a device that no kernel and no collective has: copies that others do not have, pauses between tasks
// that had been launched, and what is left of a rank that is late. And time of a job that is in no step.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 20;
constexpr Ns kLeastPause = 20'000;  // between tasks; shorter ones are how a device is

// Steps in which a rank has more of something than is usual of its peers, and by how much; in ns.
struct More {
  std::vector<uint32_t> steps;
  double mean = 0, error = 0;
};
// `own`: by step that is analysed, of each of the ranks.
More MoreOf(const Context& context, const std::vector<std::vector<double>>& own,
            const std::vector<uint32_t>& peers, uint32_t rank, double least) {
  More more;
  std::vector<double> noise;
  double sum = 0;
  for (size_t step = 0; step < context.steps(); ++step) {
    std::vector<double> all;
    all.reserve(peers.size());
    for (const uint32_t peer : peers) all.push_back(own[peer][step]);
    const double usual = peers.size() < 3 ? *std::ranges::min_element(all) : Median(all);
    const double excess = own[rank][step] - usual;
    noise.push_back(excess);
    if (excess < least) continue;
    more.steps.push_back(static_cast<uint32_t>(context.first + step));
    sum += excess;
  }
  if (more.steps.empty()) return more;
  const auto n = static_cast<double>(more.steps.size());
  more.mean = sum / n;
  more.error = Spread(noise) / std::sqrt(n);
  return more;
}

}  // namespace

void FindCopies(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<std::vector<double>> own(job.ranks.size(), std::vector<double>(context.steps()));
  bool any = false;
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    for (const Task& task : job.ranks[r].tasks) {
      const uint32_t step = context.StepOf(job.ranks[r], task.step);
      if (task.work != Work::kCopy || step == kNone) continue;
      own[r][step - context.first] += static_cast<double>(task.end - task.begin);
      any = true;
    }
  }
  if (!any) return;
  const double least = context.Get("general.min_cost_percent") / 100 * context.median_step_ns;
  std::map<std::vector<uint32_t>, std::vector<Late>> by_peers;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const std::vector<uint32_t>& peers = context.peers[r];
    if (peers.size() < 2) continue;
    const More more = MoreOf(context, own, peers, r, least);
    if (more.steps.empty() || more.mean < context.Get("general.effect_se") * more.error) continue;
    Late late =
        LateRank(context, r, "copy", "rank.copy", more.mean,
                 "it copies for " + Time(more.mean) + " of a step more than ranks like it", more.steps);
    Finding& finding = late.finding;
    finding.evidence.push_back(TableOfMeans(context, "copies of ranks like it", peers, own));
    finding.advice = {
        "copy less, from pinned memory, or beside the computing; compare the device's PCIe link with "
        "another's"};
    finding.factors = {Occurrences(more.steps.size()), {"record", 0.9, "every copy is recorded"}};
    std::vector<double> factors(context.job.steps.size(), 1);
    for (const uint32_t step : more.steps) {
      const double all = own[r][step - context.first];
      factors[step] = std::clamp(1 - more.mean / all, 0.0, 1.0);
    }
    finding.without = [r, factors, &context](const Replay& replay, Lengths& lengths) {
      Lengths::OfRank& of = replay.Touch(lengths, r);
      const Rank& rank = replay.job().ranks[r];
      for (size_t i = 0; i < rank.tasks.size(); ++i) {
        const uint32_t step = context.StepOf(rank, rank.tasks[i].step);
        if (rank.tasks[i].work == Work::kCopy && step != kNone)
          of.task[i] = std::llround(static_cast<double>(of.task[i]) * factors[step]);
      }
    };
    by_peers[peers].push_back(std::move(late));
  }
  for (auto& [peers, all] : by_peers) TellLate(context, peers.size(), std::move(all), found.findings);
}

namespace {

// Pauses of a device in front of tasks that had been launched and waited for nothing that is recorded.
struct Pauses {
  std::vector<std::pair<uint32_t, Ns>> tasks;
  double ns = 0;
};
Pauses PausesOf(const Context& context, uint32_t r) {
  const Rank& rank = context.job.ranks[r];
  Pauses pauses;
  if (rank.level < Level::kLaunches) return pauses;
  Ns reached = INT64_MIN;    // until then the device has been busy
  std::vector<Ns> going_on;  // ends of collectives: what begins while they go on has not waited for them
  for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
    const Task& task = rank.tasks[i];
    std::erase_if(going_on, [&](Ns end) {
      if (end > task.begin) return false;
      reached = std::max(reached, end);
      return true;
    });
    const Ns busy_until = reached;
    if (task.work == Work::kCollective) {
      going_on.push_back(task.end);
    } else {
      reached = std::max(reached, task.end);
    }
    if (busy_until == INT64_MIN || task.work == Work::kCollective || task.launch == kNone ||
        context.StepOf(rank, task.step) == kNone)
      continue;
    // Until it was launched the pause is its host's.
    const Ns kept = task.begin - busy_until < kLeastPause
                        ? 0
                        : std::min(task.begin - busy_until, context.replay.Kept(r, i));
    if (kept < kLeastPause) continue;
    pauses.tasks.emplace_back(i, kept);
    pauses.ns += static_cast<double>(kept);
  }
  return pauses;
}

// Ranks that have other numbers of collectives than their peers: some of theirs are lost, and lost ones look
// like time in which a device did nothing.
std::vector<bool> WithLostCollectives(const Context& context) {
  const Job& job = context.job;
  std::vector<size_t> counts;
  for (const Rank& rank : job.ranks) {
    counts.push_back(
        static_cast<size_t>(std::ranges::count_if(rank.collectives, [&](const Collective& collective) {
          return context.StepOf(rank, collective.step) != kNone;
        })));
  }
  std::vector<bool> lost;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    std::vector<size_t> of_peers;
    for (const uint32_t peer : context.peers[r]) of_peers.push_back(counts[peer]);
    lost.push_back(of_peers.size() > 1 && static_cast<double>(counts[r]) != Median(std::move(of_peers)));
  }
  return lost;
}

}  // namespace

void FindPauses(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<std::pair<uint32_t, Pauses>> all;
  const std::vector<bool> lost = WithLostCollectives(context);
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    if (lost[r]) continue;
    Pauses pauses = PausesOf(context, r);
    if (pauses.ns >= context.Get("general.min_cost_percent") / 100 * context.step_ns *
                         static_cast<double>(context.steps()))
      all.emplace_back(r, std::move(pauses));
  }
  if (all.empty()) return;
  const bool is_common = 2 * all.size() >= job.ranks.size() && (all.size() > 1 || job.ranks.size() == 1);
  std::vector<std::vector<std::pair<uint32_t, Pauses>>> parts;
  if (is_common) {
    parts.push_back(std::move(all));
  } else {
    for (auto& one : all) parts.push_back({std::move(one)});
  }
  std::vector<Late> late;
  for (auto& part : parts) {
    Finding finding;
    std::vector<uint32_t> ranks;
    std::vector<bool> is_hit(job.steps.size());
    double ns = 0;
    Table table{"the longest pauses in front of what had been launched",
                {"rank", "step", "at_ns", "us", "behind"},
                {}};
    std::vector<std::tuple<Ns, uint32_t, uint32_t>> longest;
    for (const auto& [r, pauses] : part) {
      ranks.push_back(r);
      ns += pauses.ns / static_cast<double>(part.size() * context.steps());
      for (const auto& [task, length] : pauses.tasks) {
        is_hit[context.StepOf(job.ranks[r], job.ranks[r].tasks[task].step)] = true;
        longest.emplace_back(-length, r, task);
      }
    }
    std::ranges::sort(longest);
    longest.resize(std::min(longest.size(), kMostRows));
    for (const auto& [minus, r, task] : longest) {
      const Task& of = job.ranks[r].tasks[task];
      table.rows.push_back({job.ranks[r].number, job.ranks[r].steps[of.step].number, of.begin + minus,
                            static_cast<double>(-minus) / 1e3, std::string(job.Text(of.name))});
    }
    for (uint32_t step = 0; step < is_hit.size(); ++step) {
      if (is_hit[step]) finding.steps.push_back(step);
    }
    const std::string what =
        Time(ns) + " of a step before kernels that have been launched: on what is not recorded";
    if (is_common) {
      finding.id = finding.key = "device.wait";
      finding.where = WhereOf(job, ranks);
      finding.title = (ranks.size() == job.ranks.size() && ranks.size() > 1 ? "all devices wait "
                       : ranks.size() == 1 ? RankName(job.ranks[ranks.front()]) + ": its device waits "
                                           : std::to_string(ranks.size()) + " devices wait ") +
                      what;
    } else {
      late.push_back(LateRank(context, ranks.front(), "wait", "device.wait", ns, "its device waits " + what,
                              std::move(finding.steps)));
      finding = std::move(late.back().finding);
    }
    finding.evidence.push_back(std::move(table));
    const bool knows_clock = !job.ranks[ranks.front()].frequencies.empty();
    finding.advice = {
        std::string("look at events and notifications between its streams, and who else uses the device") +
        (knows_clock ? "" : "; record its clock: --collect low-power")};
    finding.factors = {Occurrences(finding.steps.size()),
                       {"cause", 0.6, "the wait is recorded, what it waits for is not"}};
    finding.without = [part = std::move(part)](const Replay& replay, Lengths& lengths) {
      for (const auto& [r, pauses] : part) {
        Lengths::OfRank& of = replay.Touch(lengths, r);
        for (const auto& [task, length] : pauses.tasks)
          of.task_less[task] = std::max(of.task_less[task], length);
      }
    };
    if (is_common) {
      found.findings.push_back(std::move(finding));
    } else {
      late.back().finding = std::move(finding);
    }
  }
  TellLate(context, job.ranks.size(), std::move(late), found.findings);
}

namespace {

// For how long a rank's device has nothing to do in each step: from its last task of the step before to that
// of this one, without what it computes and communicates.
std::vector<double> IdleTimes(const Context& context, uint32_t r) {
  const Rank& rank = context.job.ranks[r];
  std::vector<Ns> ends(context.job.steps.size());
  std::vector<double> busy(ends.size());
  for (const Task& task : rank.tasks) {
    const uint32_t step = task.step == kNone ? kNone : rank.job_step[task.step];
    if (step != kNone) ends[step] = std::max(ends[step], task.end);
  }
  for (size_t i = 0; i < rank.steps.size(); ++i) {
    if (const uint32_t step = rank.job_step[i]; step != kNone)
      busy[step] = static_cast<double>(context.shares[r][i].computing + context.shares[r][i].exposed);
  }
  std::vector<double> idle;
  for (size_t step = context.first; step < ends.size(); ++step) {
    const Ns from = step > 0 ? ends[step - 1] : context.replay.Measured().begin;
    idle.push_back(std::max(0.0, static_cast<double>(ends[step] - from) - busy[step]));
  }
  return idle;
}

}  // namespace

void FindUnexplainedRanks(const Context& context, std::vector<Finding>& findings) {
  const Job& job = context.job;
  if (!job.has_steps || job.ranks.size() < 2) return;
  const std::vector<bool> lost = WithLostCollectives(context);
  std::vector<std::vector<double>> idle;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) idle.push_back(IdleTimes(context, r));
  // Pauses that findings take away are explained.
  Lengths mended;
  for (const Finding& finding : findings) {
    if (finding.without) finding.without(context.replay, mended);
  }
  for (uint32_t r = 0; r < mended.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    const Lengths::OfRank& of = mended.ranks[r];
    if (of.task.empty()) continue;
    for (size_t i = 0; i < of.task.size(); ++i) {
      const Task& task = rank.tasks[i];
      const uint32_t step = context.StepOf(rank, task.step);
      if (step == kNone) continue;
      const Ns copy_less =
          task.work == Work::kCopy ? task.end - task.begin - of.task[i] : 0;  // copies count as idle
      idle[r][step - context.first] -= static_cast<double>(of.task_less[i] + copy_less);
    }
    const std::vector<uint32_t> steps = StepsOfCalls(context, rank);
    const Call* outer = nullptr;  // takes less, and so do those that are made in it
    for (size_t i = 0; i < of.call_less.size(); ++i) {
      const Call& call = rank.calls[i];
      Ns less = of.call_less[i];
      if (of.within_call_less[i] > 0 &&
          (outer == nullptr || outer->thread != call.thread || call.end > outer->end)) {
        less += of.within_call_less[i];
        outer = &call;
      }
      if (steps[i] != kNone) idle[r][steps[i] - context.first] -= static_cast<double>(less);
    }
  }
  const double least = context.Get("rank.unexplained_percent") / 100 * context.median_step_ns;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const std::vector<uint32_t>& peers = context.peers[r];
    if (peers.size() < 2 || lost[r]) continue;
    const More more = MoreOf(context, idle, peers, r, least);
    // Single steps are step.outlier's.
    if (2 * more.steps.size() < context.steps() || more.mean < context.Get("general.effect_se") * more.error)
      continue;
    const Rank& rank = job.ranks[r];
    Finding finding;
    finding.id = "rank.unexplained";
    finding.key = "rank.unexplained/" + std::to_string(rank.number);
    finding.title = RankName(rank) + " is late: its device does nothing for " + Time(more.mean) +
                    " of a step more than those of ranks like it, and nothing recorded says why";
    finding.where = WhereOf(rank);
    finding.steps = more.steps;
    finding.evidence.push_back(TableOfMeans(
        context, "time of a step in which devices do nothing, less what is explained", peers, idle));
    finding.advice = {rank.level < Level::kLaunches
                          ? "record its calls, too: agent-api, or the framework's profiler"
                          : "compare it with a rank like it in a timeline: profctl export"};
    finding.factors = {{"cause", 0.6, "the delay is recorded, its reason is not"},
                       Occurrences(more.steps.size())};
    SetBound(context, finding, more.mean * static_cast<double>(more.steps.size()));
    findings.push_back(std::move(finding));
  }
}

std::vector<Outside> OutsideOf(const Context& context) {
  const Job& job = context.job;
  std::vector<Outside> all;
  if (!job.has_steps) return all;
  // From the last rank's end to the first one's begin.
  std::vector<Outside> before(job.steps.size(), {0, INT64_MIN, INT64_MAX});
  std::vector<bool> is_behind_gap(job.steps.size());
  for (const Rank& rank : job.ranks) {
    for (size_t i = 0; i < rank.steps.size(); ++i) {
      const uint32_t step = rank.job_step[i];
      if (step == kNone) continue;
      before[step].to = std::min(before[step].to, rank.steps[i].begin);
      // Behind a step that is not of all ranks, what lies before this one is no time between steps.
      if (i > 0 && rank.job_step[i - 1] == kNone) is_behind_gap[step] = true;
      if (step + 1 < before.size())
        before[step + 1].from = std::max(before[step + 1].from, rank.steps[i].end);
    }
  }
  for (size_t step = std::max<size_t>(context.first, 1); step < before.size(); ++step) {
    before[step].step = static_cast<uint32_t>(step);
    if (!is_behind_gap[step] && before[step].from != INT64_MIN && before[step].to > before[step].from)
      all.push_back(before[step]);
  }
  return all;
}

bool IsGoodputLow(const Context& context, const std::vector<Outside>& outside) {
  double sum = 0;
  for (const Outside& one : outside) sum += static_cast<double>(one.to - one.from);
  const double whole = context.step_ns * static_cast<double>(context.steps());
  return whole > 0 && 100 * sum / whole >= context.Get("goodput.outside_percent");
}

void FindLostTime(const Context& context, Found& found) {
  const Job& job = context.job;
  const std::vector<Outside> outside = OutsideOf(context);
  if (!IsGoodputLow(context, outside)) return;
  std::map<std::string, std::pair<double, size_t>> by_what;
  std::vector<std::pair<Ns, std::vector<Cell>>> rows;
  double sum = 0;
  Finding finding;
  for (const Outside& one : outside) {
    const Ns length = one.to - one.from;
    // The longest range of any rank that covers most of it.
    std::string what;
    Ns best = length / 2;
    for (const Rank& rank : job.ranks) {
      constexpr ptrdiff_t kMostRanges = 1000;
      const auto behind = std::ranges::lower_bound(rank.ranges, one.to, {}, &Range::begin);
      for (auto at = behind - std::min(behind - rank.ranges.begin(), kMostRanges); at != behind; ++at) {
        const Ns covered = std::min(at->end, one.to) - std::max(at->begin, one.from);
        if (covered > best) best = covered, what = std::string(job.Text(at->name)).substr(0, 40);
      }
    }
    auto& [ns, count] = by_what[what];
    ns += static_cast<double>(length);
    ++count;
    sum += static_cast<double>(length);
    rows.push_back({-length, {job.steps[one.step], one.from, static_cast<double>(length) / 1e6, what}});
    if (static_cast<double>(length) >= context.Get("general.min_once_ms") * 1e6 || length > kLeastPause)
      finding.steps.push_back(one.step);
  }
  const double whole = context.step_ns * static_cast<double>(context.steps());
  std::string most;
  double most_ns = 0;
  for (const auto& [what, of] : by_what) {
    if (!what.empty() && of.first > most_ns) most = what, most_ns = of.first;
  }
  finding.id = finding.key = "goodput";
  finding.title = PercentOf(sum / whole) + " of the time lies between steps" +
                  (most_ns >= sum / 2 ? ": inside " + most : "");
  Table table{"between steps", {"before_step", "at_ns", "ms", "inside"}, {}};
  std::ranges::sort(rows, {}, [](const auto& row) { return row.first; });
  for (auto& [minus, row] : rows) {
    if (table.rows.size() < kMostRows) table.rows.push_back(std::move(row));
  }
  finding.evidence.push_back(std::move(table));
  finding.where.ranks = {};
  finding.advice = {most.find("heckpoint") != most.npos
                        ? "save in the background, less often, or to faster storage"
                        : "look at what the program does between steps"};
  finding.factors = {{"record", 0.9, "begin and end of each step are recorded"}};
  SetBound(context, finding, sum);
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
