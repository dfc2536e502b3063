// Hosts that stop for a while.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <initializer_list>
#include <map>
#include <set>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/join.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/host/stall_pieces.h"
#include "client/analyze/rules/host/throttling.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostWhen = 20;

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
  std::set<uint32_t> Steps() const {
    std::set<uint32_t> steps;
    for (const Stop& stop : stops) steps.insert(stop.piece.step);
    return steps;
  }
  // A part of what it waits for a CPU.
  void AddThrottling(const Reason& part, const std::string& text) {
    const auto add = [&](Reason& to) {
      to.cgroup = part.cgroup;
      to.throttled = part.share;
      to.detail += text;
    };
    for (Stop& stop : stops) add(stop.reason);
    add(reason);
  }
};

constexpr uint32_t kManyPrograms = UINT32_MAX;
// By program (the first of its ranks), whether it is so in every step, cause and place.
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

// A stop of a program, and the cause under which it is told.
struct Told {
  std::string cause;
  Stop stop;
};
// Of the first rank of a program, all of whose ranks stop at the same time: its stops with one of `causes`,
// and how much of them it waits for a CPU.
struct Waiting {
  std::vector<Piece> pieces;
  Ns queued = 0;
};
Waiting WaitingOf(const std::vector<Told>& told, std::initializer_list<std::string_view> causes) {
  Waiting of;
  for (const auto& [cause, stop] : told) {
    const auto& [piece, reason] = stop;
    if (piece.rank != told.front().stop.piece.rank || std::ranges::find(causes, cause) == causes.end())
      continue;
    of.pieces.push_back(piece);
    if (reason.id == kRunQueue) of.queued += reason.covered;
  }
  return of;
}

// What no record and no stack explains, or only that a thread was not let, may be in time with a cgroup that
// is kept from its CPUs: all of that, what nothing explains, or a part of what waits for a CPU.
void GiveThrottling(const Context& context, Groups& groups) {
  constexpr double kPart = 0.2;  // of the stops: less is not told
  constexpr std::string_view kNobodyKnows;
  const double mostly = context.Get("host.cause_share") / 100;
  std::map<std::pair<uint32_t, bool>, std::vector<Told>> programs;  // and whether it is usual
  for (const auto& [key, group] : groups) {
    const auto& [program, is_usual, cause, place] = key;
    if (!cause.empty() && cause != kRunQueue) continue;
    for (const Stop& stop : group.stops) programs[{program, is_usual}].push_back({cause, stop});
  }
  for (auto& entry : programs) {
    const uint32_t program = entry.first.first;
    const bool is_usual = entry.first.second;
    std::vector<Told>& told = entry.second;
    std::ranges::sort(told, {},
                      [](const Told& one) { return std::tuple(one.stop.piece.rank, one.stop.piece.from); });
    const auto throttling = [&](std::initializer_list<std::string_view> causes, double least) {
      const Waiting of = WaitingOf(told, causes);
      return of.pieces.empty() ? Reason{} : ThrottlingOf(context, of.pieces, of.queued, least);
    };
    // In place of what is known of stops with one of `causes`.
    const auto explain = [&](std::initializer_list<std::string_view> causes, const Reason& reason) {
      std::erase_if(groups, [&](const auto& other) {
        const auto& [of, usual, cause, place] = other.first;
        return of == program && usual == is_usual && std::ranges::find(causes, cause) != causes.end();
      });
      Group& group = groups[{program, is_usual, reason.id, ""}];
      group.reason = reason;
      for (auto [cause, stop] : told) {
        if (std::ranges::find(causes, cause) == causes.end()) continue;
        const Ns covered = std::exchange(stop.reason, reason).covered;
        stop.reason.covered = covered;
        group.stops.push_back(std::move(stop));
      }
    };
    if (const Reason all = throttling({kNobodyKnows, kRunQueue}, mostly); !all.id.empty()) {
      explain({kNobodyKnows, kRunQueue}, all);
      continue;
    }
    if (const Reason unknown = throttling({kNobodyKnows}, mostly); !unknown.id.empty())
      explain({kNobodyKnows}, unknown);
    const Reason part = throttling({kRunQueue}, kPart);
    for (auto& [other, group] : groups) {
      const auto& [of, usual, cause, place] = other;
      if (!part.id.empty() && of == program && usual == is_usual && cause == kRunQueue)
        group.AddThrottling(part,
                            PartText(context.job, context.job.ranks[told.front().stop.piece.rank], part));
    }
  }
}

// All stops of another group, with all that their cause covers: that can be mended, not only what is more
// than usual.
void TakeAll(Group& to, const Group& from) {
  for (Stop stop : from.stops) {
    Piece& piece = stop.piece;
    const Ns covered = std::min(piece.length(), stop.reason.covered);
    piece.typical = std::min(piece.typical, piece.length() - covered);
    to.stops.push_back(std::move(stop));
  }
}

// A program that one cgroup's limit stops, here wholly and there in part, is told of once: as it is most of
// the time.
void JoinLimits(Groups& groups) {
  std::map<std::pair<uint32_t, TextId>, std::vector<Groups::iterator>> by_limit;  // by program
  for (auto at = groups.begin(); at != groups.end(); ++at) {
    if (const TextId cgroup = at->second.reason.cgroup; cgroup != 0)
      by_limit[{std::get<0>(at->first), cgroup}].push_back(at);
  }
  const auto stopped = [](const Groups::iterator& at) {
    Ns sum = 0;
    for (const Stop& stop : at->second.stops) sum += stop.piece.excess();
    return sum;
  };
  for (auto& [key, of] : by_limit) {
    const auto most = *std::ranges::max_element(of, {}, stopped);
    for (const auto& at : of) {
      if (at == most) continue;
      for (Stop& stop : at->second.stops) {
        const Ns covered = std::exchange(stop.reason, most->second.reason).covered;
        stop.reason.covered = covered;
      }
      TakeAll(most->second, at->second);
      groups.erase(at);
    }
  }
}

// What stops many programs is one cause, and what all steps have is one of all that have it. Of stops that
// nobody knows the reason of: those in the same steps.
void JoinPrograms(const std::vector<uint32_t>& programs, Groups& groups) {
  const std::set<uint32_t> all(programs.begin(), programs.end());
  const auto is_many = [&all](size_t count) { return count > 1 && 2 * count >= all.size(); };
  std::map<std::tuple<bool, std::string, std::string>, std::vector<Groups::iterator>> same;
  for (auto at = groups.begin(); at != groups.end(); ++at) {
    const auto& [program, is_usual, cause, place] = at->first;
    same[{is_usual, cause, place}].push_back(at);
  }
  for (auto& [key, of] : same) {
    const auto& [is_usual, cause, place] = key;
    if (cause.empty() && place.empty()) {
      std::map<uint32_t, size_t> stopped;  // programs, by step
      for (const auto& at : of) {
        for (const uint32_t step : at->second.Steps()) ++stopped[step];
      }
      std::erase_if(of, [&](const auto& at) {
        const std::set<uint32_t> steps = at->second.Steps();
        const auto shared = static_cast<size_t>(
            std::ranges::count_if(steps, [&](uint32_t step) { return is_many(stopped[step]); }));
        return 2 * shared < steps.size();
      });
    }
    if (!is_usual && !is_many(of.size())) continue;
    Group joint;
    for (const auto& at : of) {
      for (const Stop& stop : at->second.stops) joint.Add(stop);
      groups.erase(at);
    }
    if (!joint.stops.empty()) groups[{kManyPrograms, is_usual, cause, place}] = std::move(joint);
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
      TakeAll(all, at->second);
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

// "rank 5 (host0, device 5):"; "ranks 0,1 (host0, devices 0,1):" of a program that drives both; "ranks 2-7:"
// of several programs.
std::string ProgramName(const Job& job, const std::vector<uint32_t>& ranks,
                        const std::vector<uint32_t>& programs) {
  const bool is_one =
      std::ranges::all_of(ranks, [&](uint32_t r) { return programs[r] == programs[ranks.front()]; });
  if (ranks.size() == 1 || !is_one) return RanksName(job, ranks) + ":";
  std::vector<int> devices;
  devices.reserve(ranks.size());
  for (const uint32_t r : ranks) devices.push_back(job.ranks[r].device);
  const std::string& node = job.ranks[ranks.front()].node;
  return "ranks " + RankList(job, ranks) + " (" + (node.empty() ? "" : node + ", ") + "devices " +
         base::Joined(devices, ",") + "):";
}

Finding MakeStall(const Context& context, const Group& group, bool is_usual,
                  const std::vector<uint32_t>& programs) {
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
  const bool of_all = ranks.size() == job.ranks.size() && ranks.size() > 1 &&
                      (is_each || programs[ranks.front()] != programs[ranks.back()]);
  const std::string who = of_all ? "on all ranks" : ProgramName(job, ranks, programs);
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
  if (reason.throttled > 0) finding.causes.push_back({"host.throttled", reason.throttled});
  const bool is_alloc = group.reason.id == "host.alloc";
  finding.evidence.push_back(std::move(table));
  AddEvidence(context, reason, rank, finding);
  const bool is_fragmented = is_alloc && AddFragments(context, rank, finding);
  finding.advice = {holder ? "hold that lock for less time: " + NameOf(*holder) + " has it" +
                                 (holder->function.empty() ? "" : " in " + holder->function)
                           : AdviceOf(reason, rank)};
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
  finding.most_ns = static_cast<double>(MostOf(job, pieces));
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
std::function<bool(const Stop&)> PaceOf(const Context& context, const std::vector<Stop>& usual) {
  const double many = context.Get("host.pace_places");
  std::map<std::pair<uint32_t, uint32_t>, size_t> busy;  // by rank and step
  for (const Stop& stop : usual) {
    if (stop.reason.id == "host.busy") ++busy[{stop.piece.rank, stop.piece.step}];
  }
  return [busy = std::move(busy), many](const Stop& stop) {
    const auto of = busy.find({stop.piece.rank, stop.piece.step});
    return stop.reason.id == "host.busy" && of != busy.end() && static_cast<double>(of->second) > many;
  };
}

}  // namespace

void FindStalls(const Context& context, Found& found) {
  const Job& job = context.job;
  const auto least = static_cast<Ns>(context.Get("host.gap_ms") * 1e6);
  std::map<std::vector<uint32_t>, std::vector<PiecesOfRank>> by_peers;
  std::vector<Interval> outside;  // of steps, which goodput tells of
  if (const std::vector<Outside> all = OutsideOf(context); IsGoodputLow(context, all)) {
    for (const Outside& one : all) outside.push_back({one.from, one.to});
  }
  const std::vector<uint32_t> programs = Programs(job);
  std::map<uint32_t, std::vector<uint32_t>> ranks_of;  // by program
  for (uint32_t r = 0; r < job.ranks.size(); ++r) ranks_of[programs[r]].push_back(r);
  // Shorter ones are wanted, too: they are what is usual.
  for (uint32_t r = 0; r < job.ranks.size(); ++r)
    by_peers[context.peers[r]].push_back(PiecesOf(context, r, ranks_of[programs[r]], least / 4));
  std::vector<Stop> usual, unusual;
  for (auto& [peers, ranks] : by_peers) {
    // The same place of a step is the same number of calls into a step of as many calls.
    std::map<uint32_t, size_t> steps_of_count;
    std::map<std::tuple<uint32_t, uint32_t, bool>, std::vector<Ns>> lengths;
    for (const PiecesOfRank& of : ranks) {
      for (size_t step = context.first; step < of.calls_in_step.size(); ++step)
        ++steps_of_count[of.calls_in_step[step]];
      for (const Piece& piece : of.pieces)
        lengths[{of.calls_in_step[piece.place_step], piece.ordinal, piece.in_call}].push_back(piece.length());
    }
    for (PiecesOfRank& of : ranks) {
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
  Groups groups;
  std::map<uint32_t, bool> queued;  // by rank
  const auto is_queued = [&](const Piece& piece) {
    const auto [known, is_new] = queued.try_emplace(piece.rank);
    if (is_new) known->second = IsOftenQueued(context, piece);
    return known->second;
  };
  const auto is_pace = PaceOf(context, usual);
  for (Stop& stop : usual) {
    // What every step does at this place is how the program is; a cause that has a name can be mended.
    // Whether its cgroup is one is asked below.
    Reason& reason = stop.reason;
    const bool is_known = !reason.id.empty() && !is_pace(stop) && reason.covered >= least &&
                          (!reason.is_likely || is_queued(stop.piece));
    if (is_known) {
      stop.piece.typical = stop.piece.length() - std::min(stop.piece.length(), reason.covered);
      groups[{programs[stop.piece.rank], true, reason.id, PlaceOf(reason)}].Add(stop);
    } else {
      stop.piece.typical = 0;
      groups[{programs[stop.piece.rank], true, "", ""}].Add(stop);
    }
  }
  for (const Stop& stop : unusual)
    groups[{programs[stop.piece.rank], false, stop.reason.id, PlaceOf(stop.reason)}].Add(stop);
  // Two doubts make no finding: that it is long, and that it has waited for a CPU. But it is better than none
  // where steps are so much longer for it that they have to be explained.
  std::erase_if(groups, [&](const auto& entry) {
    constexpr double kLittle = 0.03;  // of the steps
    const Group& group = entry.second;
    std::map<uint32_t, Ns> sums;  // by rank
    for (const Stop& stop : group.stops) sums[stop.piece.rank] += stop.piece.excess();
    const Ns most = std::ranges::max_element(sums, {}, [](const auto& of) { return of.second; })->second;
    const double much = context.Get("step.jitter_percent") / 100 * context.median_step_ns;
    const bool is_little = std::ranges::all_of(
        group.stops, [much](const Stop& stop) { return static_cast<double>(stop.piece.excess()) < much; });
    return group.reason.is_likely && is_little && !is_queued(group.stops.front().piece) &&
           static_cast<double>(most) < kLittle * context.step_ns * static_cast<double>(context.steps());
  });
  GiveThrottling(context, groups);
  JoinLimits(groups);
  std::erase_if(
      groups, [](const auto& entry) { return std::get<1>(entry.first) && std::get<2>(entry.first).empty(); });
  JoinPrograms(programs, groups);
  JoinCauses(groups);
  for (const auto& [key, group] : groups)
    found.findings.push_back(MakeStall(context, group, std::get<1>(key), programs));
  FindTails(context, found);
}

}  // namespace profd::analyze
