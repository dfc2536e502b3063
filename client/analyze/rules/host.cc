// Hosts that launch too slowly, and those that stop for a while.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"
#include "client/analyze/rules/stall_cause.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostWhen = 20;
constexpr Ns kLeastIdle = 50'000;
constexpr double kHostThreshold = 0.10;  // of what other ranks' programs take: calls vary more than kernels

struct Span {
  Ns from = 0, to = 0;
};

// When nothing at all ran on a device.
std::vector<Span> IdleOf(const Rank& rank) {
  std::vector<Span> idle;
  Ns reached = INT64_MAX;
  for (const Task& task : rank.tasks) {
    if (task.begin - kLeastIdle >= reached) idle.push_back({reached, task.begin});
    reached = reached == INT64_MAX ? task.end : std::max(reached, task.end);
  }
  return idle;
}

Ns Overlap(const std::vector<Span>& spans, Ns from, Ns to) {
  Ns sum = 0;
  for (auto at = std::ranges::upper_bound(spans, from, {}, &Span::to); at != spans.end() && at->from < to;
       ++at)
    sum += std::min(to, at->to) - std::max(from, at->from);
  return sum;
}

// Pieces of one rank in the order of its calls, and how many calls each step has.
struct OfRank {
  std::vector<Piece> pieces;
  std::vector<uint32_t> calls_in_step;  // by step in Job::steps
};

OfRank PiecesOf(const Context& context, uint32_t r, Ns least) {
  const Rank& rank = context.job.ranks[r];
  OfRank of;
  of.calls_in_step.resize(context.job.steps.size());
  const std::vector<Span> idle = IdleOf(rank);
  if (rank.level < Level::kLaunches) {
    for (size_t i = 0; i < rank.tasks.size(); ++i) {
      const uint32_t step = context.StepOf(rank, rank.tasks[i].step);
      if (step == kNone) continue;
      const uint32_t ordinal = of.calls_in_step[step]++;
      const auto gap = std::ranges::lower_bound(idle, rank.tasks[i].begin, {}, &Span::to);
      if (gap == idle.end() || gap->to != rank.tasks[i].begin || gap->to - gap->from < least) continue;
      of.pieces.push_back({r, static_cast<uint32_t>(i), step, ordinal, false, true, gap->from, gap->to, 0});
    }
    return of;
  }
  const std::vector<uint32_t> steps = StepsOfCalls(context, rank);
  for (uint32_t i = 0; i < rank.calls.size(); ++i) {
    if (steps[i] == kNone) continue;
    const Call& call = rank.calls[i];
    const uint32_t ordinal = of.calls_in_step[steps[i]]++;
    if (i > 0 && context.replay.PauseOf(r, i) == kNone) {
      const Ns from = rank.calls[i - 1].end;
      if (call.begin - from >= least && Overlap(idle, from, call.begin) >= least)
        of.pieces.push_back({r, i, steps[i], ordinal, false, false, from, call.begin, 0});
    }
    const bool waits = context.replay.WaitOf(r, i) != kNone;
    if (!waits && call.end - call.begin >= least && Overlap(idle, call.begin, call.end) >= least)
      of.pieces.push_back({r, i, steps[i], ordinal, true, false, call.begin, call.end, 0});
  }
  return of;
}

struct Group {
  Reason reason;
  std::vector<Piece> pieces;
};

// By rank (UINT32_MAX: all), whether it is so in every step, cause and place.
using Groups = std::map<std::tuple<uint32_t, bool, std::string, std::string>, Group>;

// Stalls are told of together where they have one cause; waits also where they wait for the same.
std::string PlaceOf(const Reason& reason) {
  const bool has_place = reason.id.empty() || reason.id == "host.wait" || reason.id == "host.busy";
  return has_place ? reason.text : "";
}

// What no record and no stack explains, or only that a thread was not let, may be in time with a cgroup that
// is kept from its CPUs.
void GiveThrottling(const Context& context, Groups& groups) {
  struct Unknown {
    std::vector<Piece> pieces;
    Ns queued = 0;
  };
  std::map<uint32_t, Unknown> unknown;
  const auto may_be = [](const auto& key) {
    return std::get<2>(key).empty() || std::get<2>(key) == kRunQueue;
  };
  for (const auto& [key, group] : groups) {
    if (!may_be(key)) continue;
    Unknown& of = unknown[std::get<0>(key)];
    of.pieces.insert(of.pieces.end(), group.pieces.begin(), group.pieces.end());
    if (std::get<2>(key) != kRunQueue) continue;
    for (const Piece& piece : group.pieces) of.queued += ReasonOf(context, piece).covered;
  }
  for (auto& [rank, of] : unknown) {
    std::ranges::sort(of.pieces, {}, &Piece::from);
    const Reason reason = ThrottlingOf(context, of.pieces, of.queued);
    if (reason.id.empty()) continue;
    bool is_usual = false;
    std::erase_if(groups, [&, r = rank](const auto& entry) {
      if (std::get<0>(entry.first) != r || !may_be(entry.first)) return false;
      is_usual = is_usual || std::get<1>(entry.first);
      return true;
    });
    groups[{rank, is_usual, reason.id, ""}] = {reason, of.pieces};
  }
}

// What stops all ranks in each step, and now and then one of them for longer, is one cause.
void JoinCauses(const Context& context, Groups& groups) {
  for (auto& [key, all] : groups) {
    const auto& [rank, is_usual, cause, place] = key;
    if (!is_usual) continue;
    for (auto at = groups.begin(); at != groups.end();) {
      const auto& [other_rank, other_usual, other_cause, other_place] = at->first;
      if (other_usual || other_cause != cause || other_place != place) {
        ++at;
        continue;
      }
      for (Piece piece : at->second.pieces) {
        // All that the cause covers can be mended, not only what is more than usual.
        const Ns covered = std::min(piece.length(), ReasonOf(context, piece).covered);
        piece.typical = std::min(piece.typical, piece.length() - covered);
        all.pieces.push_back(piece);
      }
      at = groups.erase(at);
    }
  }
}

// Stops in one function.
struct AtFunction {
  Ns ns = 0;
  Reason reason;  // of the one that tells most
  void Add(Ns more, const Reason& own) {
    if (ns == 0 || own.TellsMoreThan(reason)) reason = own;
    ns += more;
  }
};

Finding MakeStall(const Context& context, const Group& group, bool of_all) {
  const Job& job = context.job;
  Finding finding;
  const Rank& rank = job.ranks[group.pieces.front().rank];
  const std::string cause =
      group.reason.id.empty() ? "unexplained" : group.reason.id.substr(group.reason.id.find('.') + 1);
  std::map<uint32_t, std::pair<Ns, size_t>> by_rank;
  Ns longest = 0, total = 0;
  double share = 1;
  Table table{"stalls of the host", {"rank", "step", "at_ns", "ms", "usual_ms", "cause_share", "where"}, {}};
  std::vector<uint32_t> steps;
  std::map<std::string, AtFunction> by_function;
  for (const Piece& piece : group.pieces) {
    by_rank[piece.rank].first += piece.excess();
    longest = std::max(longest, piece.length());
    total += piece.excess();
    steps.push_back(piece.step);
    if (table.rows.size() < 50) {
      const Reason own = group.reason.cgroup != 0 ? group.reason : ReasonOf(context, piece);
      share = std::min(share, own.share);
      if (own.id == group.reason.id && !own.function.empty())
        by_function[own.function].Add(piece.excess(), own);
      table.rows.push_back({job.ranks[piece.rank].number, job.steps[piece.step], piece.from,
                            static_cast<double>(piece.length()) / 1e6,
                            static_cast<double>(piece.typical) / 1e6, own.share, own.function});
    }
    if (finding.when.size() < kMostWhen)
      finding.when.push_back({job.ranks[piece.rank].number, piece.from, piece.to, job.steps[piece.step],
                              "the host launches nothing, the device is idle"});
  }
  std::ranges::sort(steps);
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  finding.id = "host.stall";
  finding.steps = steps;
  // The function that most of it is in, not that of the longest of them.
  const auto most = std::ranges::max_element(by_function, {}, [](const auto& entry) {
    return std::pair(entry.second.reason.IsOfPython(), entry.second.ns);
  });
  const Reason& reason = most == by_function.end() ? group.reason : most->second.reason;
  std::string why = reason.text.empty() ? "no cause is recorded" : reason.Sentence();
  const auto holder = LockHolderOf(context, group.pieces, reason);
  if (holder) why += "; " + SentenceOf(*holder);
  if (of_all) {
    finding.key = "host.stall/all/" + cause;
    for (const auto& [r, sum] : by_rank) finding.where.ranks.push_back(job.ranks[r].number);
    finding.title = "on all ranks the host stops for " +
                    Time(static_cast<double>(total) / static_cast<double>(by_rank.size() * context.steps())) +
                    " in each step: " + why;
  } else {
    finding.key = "host.stall/" + std::to_string(rank.number) + "/" + cause;
    finding.where = WhereOf(rank);
    finding.title =
        RankName(rank) + ": the host stops for " + Time(static_cast<double>(longest)) + ": " + why;
  }
  if (!group.reason.id.empty()) finding.causes.push_back({group.reason.id, share});
  const bool is_alloc = group.reason.id == "host.alloc";
  finding.evidence.push_back(std::move(table));
  AddEvidence(context, reason, rank, finding);
  const bool is_fragmented = is_alloc && AddFragments(context, rank, finding);
  finding.advice = {holder ? "hold that lock for less time: " + NameOf(*holder) + " has it" +
                                 (holder->function.empty() ? "" : " in " + holder->function)
                           : AdviceOf(group.reason, rank)};
  if (holder) finding.evidence.push_back(HolderTable(job, *holder));
  if (const std::string allocator = VariableOf(context, "PYTORCH_NPU_ALLOC_CONF");
      is_alloc && !allocator.empty() && allocator.find("expandable_segments:True") == allocator.npos) {
    finding.causes.push_back({"env.setting", 1});
    finding.advice.insert(finding.advice.begin(), "set PYTORCH_NPU_ALLOC_CONF=expandable_segments:True");
  } else if (is_fragmented) {
    finding.advice.insert(finding.advice.begin(), "allocate tensors of fewer sizes, or a smaller batch");
  }
  finding.factors.push_back(group.reason.id.empty() ? Occurrences(steps.size()) : group.reason.how);
  if (group.reason.id.empty())
    finding.factors.push_back({"cause", 0.6, "the stop of the host is recorded, its reason is not"});
  finding.without = [pieces = group.pieces](const Replay& replay, Lengths& lengths) {
    for (const Piece& piece : pieces) {
      Lengths::OfRank& of = replay.Touch(lengths, piece.rank);
      if (piece.of_task) {
        of.task_less[piece.index] += piece.excess();
      } else {
        // What a call takes too long holds up the next one.
        const size_t at = piece.in_call ? piece.index + 1 : piece.index;
        if (at < of.call_less.size()) of.call_less[at] += piece.excess();
      }
    }
  };
  return finding;
}

}  // namespace

void FindStalls(const Context& context, Found& found) {
  const Job& job = context.job;
  const auto least = static_cast<Ns>(context.Get("host.gap_ms") * 1e6);
  std::map<std::vector<uint32_t>, std::vector<OfRank>> by_peers;
  std::vector<Span> outside;  // of steps, which goodput tells of
  if (const std::vector<Outside> all = OutsideOf(context); IsGoodputLow(context, all)) {
    for (const Outside& one : all) outside.push_back({one.from, one.to});
  }
  // Shorter ones are wanted, too: they are what is usual.
  for (uint32_t r = 0; r < job.ranks.size(); ++r)
    by_peers[context.peers[r]].push_back(PiecesOf(context, r, least / 4));
  for (auto& [peers, ranks] : by_peers) {
    // The same place of a step is the same number of calls into a step of as many calls.
    std::map<uint32_t, size_t> steps_of_count;
    std::map<std::tuple<uint32_t, uint32_t, bool>, std::vector<Ns>> lengths;
    for (const OfRank& of : ranks) {
      for (size_t step = context.first; step < of.calls_in_step.size(); ++step)
        ++steps_of_count[of.calls_in_step[step]];
      for (const Piece& piece : of.pieces)
        lengths[{of.calls_in_step[piece.step], piece.ordinal, piece.in_call}].push_back(piece.length());
    }
    Groups groups;
    for (OfRank& of : ranks) {
      for (Piece& piece : of.pieces) {
        if (piece.length() < least || 2 * Overlap(outside, piece.from, piece.to) >= piece.length()) continue;
        const uint32_t count = of.calls_in_step[piece.step];
        const std::vector<Ns>& same = lengths[{count, piece.ordinal, piece.in_call}];
        // Those that are not in the list were short.
        std::vector<Ns> all = same;
        all.resize(std::max(same.size(), steps_of_count[count]), 0);
        const bool is_alone = all.size() < 3;
        piece.typical = is_alone ? 0 : static_cast<Ns>(Median(all));
        const bool is_usual =
            !is_alone && piece.typical >= least && piece.excess() < std::max(least, piece.typical);
        const Reason reason = ReasonOf(context, piece);
        // Of one place that is like no other nobody can say that it is long.
        if (is_alone && reason.id.empty()) continue;
        if (is_usual) {
          // What every step does at this place is how the program is; a cause that has a name can be mended.
          if (reason.id.empty() || reason.covered < least) continue;
          Piece usual = piece;
          usual.typical = piece.length() - std::min(piece.length(), reason.covered);
          Group& group = groups[{UINT32_MAX, true, reason.id, PlaceOf(reason)}];
          if (group.pieces.empty() || reason.TellsMoreThan(group.reason)) group.reason = reason;
          group.pieces.push_back(usual);
        } else if (piece.excess() >= least) {
          Group& group = groups[{piece.rank, false, reason.id, PlaceOf(reason)}];
          if (group.pieces.empty() || reason.TellsMoreThan(group.reason)) group.reason = reason;
          group.pieces.push_back(piece);
        }
      }
    }
    GiveThrottling(context, groups);
    JoinCauses(context, groups);
    for (const auto& [key, group] : groups)
      found.findings.push_back(MakeStall(context, group, std::get<1>(key)));
  }
}

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
    for (const uint32_t r : peers) {
      std::vector<double> values;
      for (const double value : by_step[r]) values.push_back(value / reference - 1);
      const Excess excess = ExcessOf(context, values, Spread(noise) / reference, kHostThreshold);
      if (!excess.is_clear) continue;
      const Rank& rank = job.ranks[r];
      Finding finding;
      finding.id = "rank.late";
      finding.key = "rank.late/" + std::to_string(rank.number) + "/host";
      finding.title = RankName(rank) + " is late: its host takes " + Time(excess.mean * reference) +
                      " more of a step to launch than others";
      finding.where = WhereOf(rank);
      finding.steps = excess.steps;
      finding.causes = {{"host.launch", 1}};
      finding.evidence.push_back(TableOfMeans(context, "time of the host between launches", peers, by_step));
      finding.advice = {
          "see what else runs on the CPUs of its process; record --collect "
          "host-cpu,host-cgroup,host-off-cpu"};
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
      found.findings.push_back(std::move(finding));
    }
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
