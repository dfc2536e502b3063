// Hosts that stop for a while.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include "base/join.h"
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
  if (!rank.steps.empty() && rank.steps.back().end > reached)
    idle.push_back({reached, rank.steps.back().end});
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

// The step that most of a time lies in, with the pause in front of it; kNone: none that is analysed.
uint32_t StepOfTime(const Context& context, const Rank& rank, Ns from, Ns to) {
  const auto first = std::ranges::lower_bound(rank.steps, from, {}, &Step::end);
  Ns most = 0, reached = from;
  auto best = rank.steps.end();
  for (auto step = first; step != rank.steps.end() && reached < to; ++step) {
    const Ns inside = std::min(step->end, to) - reached;
    reached = step->end;
    if (inside > most) most = inside, best = step;
  }
  return best == rank.steps.end() ? kNone
                                  : context.StepOf(rank, static_cast<uint32_t>(best - rank.steps.begin()));
}

// A call of a thread that is made within another one: of both of them one is told, the inner one if it takes
// most of the other.
void AddInCall(const Rank& rank, const Piece& piece, std::vector<Piece>& pieces) {
  if (!pieces.empty() && pieces.back().in_call) {
    const Call &outer = rank.calls[pieces.back().index], &inner = rank.calls[piece.index];
    if (outer.thread == inner.thread && inner.end <= outer.end) {
      if (2 * piece.length() >= pieces.back().length()) pieces.back() = piece;
      return;
    }
  }
  pieces.push_back(piece);
}

OfRank PiecesOf(const Context& context, uint32_t r, Ns least) {
  const Rank& rank = context.job.ranks[r];
  OfRank of;
  of.calls_in_step.resize(context.job.steps.size());
  const std::vector<Span> idle = IdleOf(rank);
  const auto piece_of = [&](uint32_t index, uint32_t place_step, uint32_t ordinal, Ns from, Ns to) {
    Piece piece;
    piece.rank = r;
    piece.index = index;
    piece.place_step = place_step;
    piece.ordinal = ordinal;
    piece.from = from;
    piece.to = to;
    piece.step = StepOfTime(context, rank, from, to);
    return piece;
  };
  if (rank.level < Level::kLaunches) {
    for (size_t i = 0; i < rank.tasks.size(); ++i) {
      const uint32_t step = context.StepOf(rank, rank.tasks[i].step);
      if (step == kNone) continue;
      const uint32_t ordinal = of.calls_in_step[step]++;
      const auto gap = std::ranges::lower_bound(idle, rank.tasks[i].begin, {}, &Span::to);
      if (gap == idle.end() || gap->to != rank.tasks[i].begin || gap->to - gap->from < least) continue;
      Piece piece = piece_of(static_cast<uint32_t>(i), step, ordinal, gap->from, gap->to);
      piece.of_task = true;
      if (piece.step != kNone) of.pieces.push_back(piece);
    }
    return of;
  }
  const std::vector<uint32_t> steps = StepsOfCalls(context, rank);
  Ns back = INT64_MIN;  // of the calls before, the last one was back then
  for (uint32_t i = 0; i < rank.calls.size(); ++i) {
    const Call& call = rank.calls[i];
    const Ns was_back = std::exchange(back, std::max(back, call.end));
    if (steps[i] == kNone) continue;
    const uint32_t ordinal = of.calls_in_step[steps[i]]++;
    if (i > 0 && call.begin - was_back >= least && context.replay.PauseOf(r, i) == kNone &&
        Overlap(idle, was_back, call.begin) >= least) {
      const Piece piece = piece_of(i, steps[i], ordinal, was_back, call.begin);
      if (piece.step != kNone) of.pieces.push_back(piece);
    }
    // A launch that waits has found the queue full; a call that waits for the device is the host's own when
    // the device is done.
    const bool waits = context.replay.WaitOf(r, i) != kNone;
    const Ns own = !waits                                ? call.end - call.begin
                   : call.kind == CallKind::kSynchronise ? context.replay.OwnTime(r, i)
                                                         : 0;
    if (own < least || Overlap(idle, call.end - own, call.end) < least) continue;
    Piece piece = piece_of(i, steps[i], ordinal, call.end - own, call.end);
    piece.in_call = true;
    piece.is_tail = waits;
    if (piece.step != kNone) AddInCall(rank, piece, of.pieces);
  }
  return of;
}

// A piece, and why.
struct Stop {
  Piece piece;
  Reason reason;
};

struct Group {
  Reason reason;
  std::vector<Stop> stops;
  void Add(const Stop& stop) {
    if (stops.empty() || stop.reason.TellsMoreThan(reason)) reason = stop.reason;
    stops.push_back(stop);
  }
};

// By program (the first of its ranks; UINT32_MAX: all), whether it is so in every step, cause and place.
using Groups = std::map<std::tuple<uint32_t, bool, std::string, std::string>, Group>;

// Stalls are told of together where they have one cause; waits also where they wait for the same.
std::string PlaceOf(const Reason& reason) {
  const bool has_place = reason.id.empty() || reason.id == "host.wait" || reason.id == "host.busy";
  return has_place ? reason.text : "";
}

// By rank: the first one of the same program, which drives the devices of all of them.
std::vector<uint32_t> Programs(const Job& job) {
  std::vector<uint32_t> programs;
  std::map<std::pair<std::string, uint64_t>, uint32_t> first;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    programs.push_back(rank.process == 0 ? r : first.try_emplace({rank.node, rank.process}, r).first->second);
  }
  return programs;
}

// What is known of a stop by what its thread did, and by no record.
bool IsOfThread(const Reason& reason) { return reason.how.name == "stack" || reason.how.name == "samples"; }

// What no stop tells alone, those of a rank at the same place may tell together: of a short one there are
// few samples. Where each step has one (`usual`) they count together, too, if they tell of different things.
void PoolReasons(const Context& context, bool usual, std::vector<Stop>& stops) {
  constexpr double kMostly = 0.8;  // of their time
  std::map<std::tuple<uint32_t, bool, uint32_t>, std::vector<size_t>> by_place;
  for (size_t i = 0; i < stops.size(); ++i) {
    const auto& [piece, reason] = stops[i];
    if (reason.id.empty() || (usual && IsOfThread(reason)))
      by_place[{piece.rank, piece.in_call, piece.ordinal}].push_back(i);
  }
  for (const auto& [place, which] : by_place) {
    if (which.size() < 2) continue;
    std::vector<Piece> pieces;
    std::map<std::pair<std::string, std::string>, Ns> by_reason;
    Ns all = 0;
    for (const size_t i : which) {
      const auto& [piece, reason] = stops[i];
      pieces.push_back(piece);
      all += piece.length();
      if (!reason.id.empty()) by_reason[{reason.id, PlaceOf(reason)}] += piece.length();
    }
    const bool is_clear = std::ranges::any_of(by_reason, [&](const auto& entry) {
      return static_cast<double>(entry.second) >= kMostly * static_cast<double>(all);
    });
    if (is_clear) continue;
    const Reason reason = PooledReason(context, pieces);
    if (reason.id.empty()) continue;
    for (const size_t i : which) {
      stops[i].reason = reason;
      stops[i].reason.covered = static_cast<Ns>(reason.share * static_cast<double>(stops[i].piece.length()));
    }
  }
}

// What no record and no stack explains, or only that a thread was not let, may be in time with a cgroup that
// is kept from its CPUs.
void GiveThrottling(const Context& context, Groups& groups) {
  std::map<std::pair<uint32_t, bool>, std::vector<Stop>> unknown;  // by program, and whether it is usual
  const auto may_be = [](const auto& key) {
    return std::get<0>(key) != UINT32_MAX && (std::get<2>(key).empty() || std::get<2>(key) == kRunQueue);
  };
  for (const auto& [key, group] : groups) {
    if (!may_be(key)) continue;
    std::vector<Stop>& of = unknown[{std::get<0>(key), std::get<1>(key)}];
    of.insert(of.end(), group.stops.begin(), group.stops.end());
  }
  for (auto& [key, stops] : unknown) {
    std::ranges::sort(stops, {},
                      [](const Stop& stop) { return std::tuple(stop.piece.rank, stop.piece.from); });
    // Of one rank: all of a program's stop at the same time.
    std::vector<Piece> pieces;
    Ns queued = 0;
    for (const Stop& stop : stops) {
      if (stop.piece.rank != stops.front().piece.rank) break;
      pieces.push_back(stop.piece);
      if (stop.reason.id == kRunQueue) queued += stop.reason.covered;
    }
    const Reason reason = ThrottlingOf(context, pieces, queued);
    if (reason.id.empty()) continue;
    const auto& [program, is_usual] = key;
    std::erase_if(groups, [&, of = program, usual = is_usual](const auto& entry) {
      return std::get<0>(entry.first) == of && std::get<1>(entry.first) == usual && may_be(entry.first);
    });
    for (Stop& stop : stops) {
      const Ns covered = std::exchange(stop.reason, reason).covered;
      stop.reason.covered = covered;
    }
    groups[{program, is_usual, reason.id, ""}] = {reason, std::move(stops)};
  }
}

// What stops all ranks in each step, and now and then one of them for longer, is one cause.
void JoinCauses(Groups& groups) {
  for (auto& [key, all] : groups) {
    const auto& [rank, is_usual, cause, place] = key;
    if (!is_usual) continue;
    for (auto at = groups.begin(); at != groups.end();) {
      const auto& [other_rank, other_usual, other_cause, other_place] = at->first;
      if (other_usual || other_cause != cause || other_place != place) {
        ++at;
        continue;
      }
      for (Stop stop : at->second.stops) {
        // All that the cause covers can be mended, not only what is more than usual.
        Piece& piece = stop.piece;
        const Ns covered = std::min(piece.length(), stop.reason.covered);
        piece.typical = std::min(piece.typical, piece.length() - covered);
        all.stops.push_back(std::move(stop));
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

// "rank 5 (host0, device 5)"; "ranks 0,1 (host0, devices 0,1)" of a program that drives both.
std::string ProgramName(const Job& job, const std::vector<uint32_t>& ranks) {
  if (ranks.size() == 1) return RankName(job.ranks[ranks.front()]);
  std::vector<int> devices;
  devices.reserve(ranks.size());
  for (const uint32_t r : ranks) devices.push_back(job.ranks[r].device);
  const std::string& node = job.ranks[ranks.front()].node;
  return "ranks " + RankList(job, ranks) + " (" + (node.empty() ? "" : node + ", ") + "devices " +
         base::Joined(devices, ",") + ")";
}

Finding MakeStall(const Context& context, const Group& group, bool is_usual) {
  const Job& job = context.job;
  Finding finding;
  const Rank& rank = job.ranks[group.stops.front().piece.rank];
  const std::string cause =
      group.reason.id.empty() ? "unexplained" : group.reason.id.substr(group.reason.id.find('.') + 1);
  std::vector<uint32_t> ranks;
  std::vector<Piece> pieces;
  Ns longest = 0, total = 0;
  double share = 1;
  Table table{"stalls of the host", {"rank", "step", "at_ns", "ms", "usual_ms", "cause_share", "where"}, {}};
  std::vector<uint32_t> steps;
  std::map<std::string, AtFunction> by_function;
  for (const auto& [piece, own] : group.stops) {
    pieces.push_back(piece);
    ranks.push_back(piece.rank);
    longest = std::max(longest, piece.length());
    total += piece.excess();
    steps.push_back(piece.step);
    share = std::min(share, own.share);
    if (own.id == group.reason.id && !own.function.empty())
      by_function[own.function].Add(piece.excess(), own);
    if (table.rows.size() < 50) {
      table.rows.push_back({job.ranks[piece.rank].number, job.steps[piece.step], piece.from,
                            static_cast<double>(piece.length()) / 1e6,
                            static_cast<double>(piece.typical) / 1e6, own.share, own.function});
    }
    if (finding.when.size() < kMostWhen)
      finding.when.push_back({job.ranks[piece.rank].number, piece.from, piece.to, job.steps[piece.step],
                              "the host launches nothing, the device is idle"});
  }
  for (std::vector<uint32_t>* const list : {&steps, &ranks}) {
    std::ranges::sort(*list);
    list->erase(std::unique(list->begin(), list->end()), list->end());
  }
  finding.id = "host.stall";
  finding.steps = steps;
  // The function that most of it is in, not that of the longest of them.
  const auto most = std::ranges::max_element(by_function, {}, [](const auto& entry) {
    return std::pair(entry.second.reason.IsOfPython(), entry.second.ns);
  });
  const Reason& reason = most == by_function.end() ? group.reason : most->second.reason;
  std::string why = reason.text.empty() ? "no cause is recorded" : reason.Sentence();
  const auto holder = LockHolderOf(context, pieces, reason);
  if (holder) why += "; " + SentenceOf(*holder);
  const bool is_each = is_usual && 2 * steps.size() >= context.steps();
  const bool of_all = is_each && ranks.size() == job.ranks.size();
  const std::string who = of_all ? "on all ranks" : ProgramName(job, ranks) + ":";
  finding.where = WhereOf(job, ranks);
  if (!of_all) {
    for (const uint32_t r : ranks) finding.where.devices.push_back(job.ranks[r].device);
  }
  finding.key = "host.stall/" + (of_all ? "all" : std::to_string(rank.number)) + "/" + cause;
  finding.title =
      who + " the host stops for " +
      (is_each ? Time(static_cast<double>(total) / static_cast<double>(ranks.size() * context.steps())) +
                     " in each step: "
               : Time(static_cast<double>(longest)) + ": ") +
      why;
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
  finding.without = [pieces = std::move(pieces)](const Replay& replay, Lengths& lengths) {
    for (const Piece& piece : pieces) {
      Lengths::OfRank& of = replay.Touch(lengths, piece.rank);
      if (piece.of_task) {
        of.task_less[piece.index] += piece.excess();
      } else if (piece.in_call) {
        replay.ShortenCall(lengths, piece.rank, piece.index, piece.excess());
      } else {
        of.call_less[piece.index] += piece.excess();
      }
    }
  };
  return finding;
}

// Whether a program computes at so many places of each step that this is how it launches, and no stop.
std::function<bool(const Stop&)> PaceOf(const std::vector<Stop>& usual) {
  constexpr size_t kMany = 8;
  std::map<std::pair<uint32_t, uint32_t>, size_t> busy;  // by rank and step
  for (const Stop& stop : usual) {
    if (stop.reason.id == "host.busy") ++busy[{stop.piece.rank, stop.piece.step}];
  }
  return [busy = std::move(busy)](const Stop& stop) {
    const auto of = busy.find({stop.piece.rank, stop.piece.step});
    return stop.reason.id == "host.busy" && of != busy.end() && of->second > kMany;
  };
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
  std::vector<Stop> usual, unusual;
  for (auto& [peers, ranks] : by_peers) {
    // The same place of a step is the same number of calls into a step of as many calls.
    std::map<uint32_t, size_t> steps_of_count;
    std::map<std::tuple<uint32_t, uint32_t, bool>, std::vector<Ns>> lengths;
    for (const OfRank& of : ranks) {
      for (size_t step = context.first; step < of.calls_in_step.size(); ++step)
        ++steps_of_count[of.calls_in_step[step]];
      for (const Piece& piece : of.pieces)
        lengths[{of.calls_in_step[piece.place_step], piece.ordinal, piece.in_call}].push_back(piece.length());
    }
    for (OfRank& of : ranks) {
      for (Piece& piece : of.pieces) {
        if (piece.length() < least || 2 * Overlap(outside, piece.from, piece.to) >= piece.length()) continue;
        const uint32_t count = of.calls_in_step[piece.place_step];
        const std::vector<Ns>& same = lengths[{count, piece.ordinal, piece.in_call}];
        // Those that are not in the list were short.
        std::vector<Ns> all = same;
        all.resize(std::max(same.size(), steps_of_count[count]), 0);
        const bool is_alone = all.size() < 3;
        piece.typical = is_alone ? 0 : static_cast<Ns>(Median(all));
        const bool is_usual =
            !is_alone && piece.typical >= least && piece.excess() < std::max(least, piece.typical);
        if (!is_usual && piece.excess() < least) continue;
        Reason reason = ReasonOf(context, piece);
        // Of one place that is like no other nobody can say that it is long.
        if (is_alone && (reason.id.empty() || reason.covered < least)) continue;
        (is_usual ? usual : unusual).push_back({piece, std::move(reason)});
      }
    }
  }
  PoolReasons(context, true, usual);
  PoolReasons(context, false, unusual);
  const std::vector<uint32_t> programs = Programs(job);
  Groups groups;
  std::map<uint32_t, bool> queued;  // by rank
  const auto is_queued = [&](const Piece& piece) {
    const auto [known, is_new] = queued.try_emplace(piece.rank);
    if (is_new) known->second = IsOftenQueued(context, piece);
    return known->second;
  };
  const auto is_pace = PaceOf(usual);
  for (Stop& stop : usual) {
    // What every step does at this place is how the program is; a cause that has a name can be mended.
    // Whether its cgroup is one is asked below.
    Reason& reason = stop.reason;
    const bool is_known = !reason.id.empty() && !is_pace(stop) && reason.covered >= least &&
                          (!reason.is_likely || is_queued(stop.piece));
    if (is_known) {
      stop.piece.typical = stop.piece.length() - std::min(stop.piece.length(), reason.covered);
      groups[{UINT32_MAX, true, reason.id, PlaceOf(reason)}].Add(stop);
    } else {
      stop.piece.typical = 0;
      groups[{programs[stop.piece.rank], true, "", ""}].Add(stop);
    }
  }
  for (const Stop& stop : unusual)
    groups[{programs[stop.piece.rank], false, stop.reason.id, PlaceOf(stop.reason)}].Add(stop);
  GiveThrottling(context, groups);
  std::erase_if(
      groups, [](const auto& entry) { return std::get<1>(entry.first) && std::get<2>(entry.first).empty(); });
  JoinCauses(groups);
  for (const auto& [key, group] : groups)
    found.findings.push_back(MakeStall(context, group, std::get<1>(key)));
  FindTails(context, found);
}

}  // namespace profd::analyze
