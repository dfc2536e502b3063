// Hosts that stop for a while.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <tuple>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/host/stall_cause.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostWhen = 20;
constexpr Ns kLeastIdle = 50'000;

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

}  // namespace profd::analyze
