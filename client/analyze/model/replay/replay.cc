#include "client/analyze/model/replay/replay.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "client/analyze/model/order.h"
#include "client/analyze/model/parallel.h"
#include "client/analyze/model/replay/steps_of_job.h"
#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

constexpr Ns kNear = 50'000;  // a task that begins so soon behind another lane's end may have waited for it
constexpr Ns kBackToBack = 2'000;  // and one so soon behind its own lane's has not
constexpr size_t kFullQueue = 64;  // tasks that wait; with fewer a long call has another reason
constexpr Ns kLongCall = 20'000;
constexpr Ns kLongPause = 200'000;

}  // namespace

double Replay::Outcome::Mean(size_t first) const {
  if (step_end.size() <= first) return 0;
  const Ns from = first == 0 ? begin : step_end[first - 1];
  return static_cast<double>(step_end.back() - from) / static_cast<double>(step_end.size() - first);
}

std::vector<Ns> Replay::Outcome::Times(size_t first) const {
  std::vector<Ns> times;
  for (size_t i = first; i < step_end.size(); ++i)
    times.push_back(step_end[i] - (i == 0 ? begin : step_end[i - 1]));
  return times;
}

std::vector<Ns> Replay::Outcome::Lengths(size_t first) const {
  return {length.begin() + static_cast<ptrdiff_t>(std::min(first, length.size())), length.end()};
}

Replay::Replay(const Job& job, const Matches& matches, unsigned jobs)
    : job_(job),
      matches_(matches),
      any_is_whole_(std::ranges::any_of(job.ranks, [](const Rank& rank) { return !rank.gaps.any(); })),
      ranks_(job.ranks.size()),
      transfers_(matches.all.size()) {
  for (size_t i = 0; i < matches.all.size(); ++i) {
    TransferOf& to = transfers_[i];
    to.length = INT64_MAX;
    to.last = INT64_MIN;
    for (const Match::Member& member : matches.all[i].members) {
      const Collective& own = job.ranks[member.rank].collectives[member.collective];
      to.length = std::min(to.length, own.end - own.begin);
      to.last = std::max(to.last, own.begin);
    }
  }
  ForEach(ranks_.size(), jobs, [this](size_t rank) {
    FindWaits(rank);
    FindCross(rank);
  });
  measured_ = FindMeasured();
}

// Calls that the device held up: those that synchronise, and launches into a queue that was full.
void Replay::FindWaits(size_t number) {
  const Rank& rank = job_.ranks[number];
  OfRank& of = ranks_[number];
  of.latency = INT64_MAX;
  std::vector<Ns> lengths;
  for (const Task& task : rank.tasks) {
    if (task.launch != kNone)
      of.latency = std::min(of.latency, std::max<Ns>(0, task.begin - rank.calls[task.launch].begin));
  }
  if (of.latency == INT64_MAX) of.latency = 0;
  if (rank.calls.empty()) return;
  for (const Call& call : rank.calls) {
    if (call.kind == CallKind::kLaunch) lengths.push_back(call.end - call.begin);
  }
  const auto usual = static_cast<Ns>(Median(lengths));
  // Tasks by their ends, to find the last one that ended before a call did.
  std::vector<uint32_t> by_end(rank.tasks.size()), launched(rank.calls.size() + 1);
  for (uint32_t i = 0; i < by_end.size(); ++i) by_end[i] = i;
  SortNearlySorted(by_end, [&rank](uint32_t a, uint32_t b) {
    return std::tie(rank.tasks[a].end, a) < std::tie(rank.tasks[b].end, b);
  });
  for (const Task& task : rank.tasks) {
    if (task.launch != kNone) ++launched[task.launch + 1];
  }
  for (size_t i = 1; i < launched.size(); ++i) launched[i] += launched[i - 1];
  for (size_t i = 0; i < rank.calls.size(); ++i) {
    const Call& call = rank.calls[i];
    // A program that goes on right when the device has nothing left to do has waited for that.
    if (i > 0 && call.begin - rank.calls[i - 1].end > kLongPause) {
      const auto after = std::ranges::upper_bound(by_end, call.begin, {},
                                                  [&rank](uint32_t task) { return rank.tasks[task].end; });
      const auto ended = static_cast<size_t>(after - by_end.begin());
      if (ended > 0 && launched[i] <= ended && call.begin - rank.tasks[by_end[ended - 1]].end <= kNear &&
          rank.tasks[by_end[ended - 1]].end > rank.calls[i - 1].end)
        of.pauses.push_back({static_cast<uint32_t>(i), by_end[ended - 1], 0});
    }
    const bool is_long =
        call.kind == CallKind::kLaunch && call.end - call.begin > std::max(kLongCall, 5 * usual);
    if (call.kind != CallKind::kSynchronise && !is_long) continue;
    const auto behind = std::ranges::upper_bound(by_end, call.end, {},
                                                 [&rank](uint32_t task) { return rank.tasks[task].end; });
    if (behind == by_end.begin()) continue;
    const auto ended = static_cast<size_t>(behind - by_end.begin());
    const uint32_t task = *std::prev(behind);
    const Ns tail = call.end - rank.tasks[task].end;
    if (is_long && (launched[i] < ended + kFullQueue || tail > kNear)) continue;
    // One that did not have to wait comes back by itself.
    of.waits.push_back({static_cast<uint32_t>(i), task, rank.tasks[task].end >= call.begin ? tail : 0});
  }
  FindLates(number, usual);
}

// Calls that take long though the queue has room, and whose tasks begin when they come back.
void Replay::FindLates(size_t number, Ns usual) {
  const Rank& rank = job_.ranks[number];
  OfRank& of = ranks_[number];
  std::map<uint32_t, Ns> first;  // begin of the first task of such a call
  for (const Task& task : rank.tasks) {
    if (task.launch == kNone) continue;
    const Call& call = rank.calls[task.launch];
    if (call.end - call.begin <= std::max(kLongCall, 5 * usual) || Find(of.waits, task.launch) != nullptr)
      continue;
    const auto [at, is_new] = first.try_emplace(task.launch, task.begin);
    at->second = std::min(at->second, task.begin);
  }
  for (const auto& [i, begin] : first) {
    const Call& call = rank.calls[i];
    if (begin >= call.end - usual)
      of.lates.push_back({i, std::min(call.end - usual, begin - of.latency) - call.begin});
  }
}

Ns Replay::LaunchedAt(size_t number, size_t call) const {
  const std::vector<Late>& lates = ranks_[number].lates;
  const Ns begin = job_.ranks[number].calls[call].begin;
  if (lates.empty()) return begin;
  const auto at = std::ranges::lower_bound(lates, call, {}, &Late::call);
  return at != lates.end() && at->call == call ? begin + at->ns : begin;
}

void Replay::ShortenCall(Lengths& lengths, size_t number, size_t call, Ns less) const {
  constexpr size_t kDeepest = 8;  // calls that a call may be made in
  Lengths::OfRank& of = Touch(lengths, number);
  const std::vector<Call>& calls = job_.ranks[number].calls;
  for (size_t i = call + 1; i-- > 0 && call - i <= kDeepest;) {
    if (calls[i].thread == calls[call].thread && calls[i].end >= calls[call].end)
      of.within_call_less[i] += less;
  }
}

void Replay::FindCross(size_t number) {
  const Rank& rank = job_.ranks[number];
  OfRank& of = ranks_[number];
  if (rank.lanes < 2) return;
  std::vector<uint32_t> cross(rank.tasks.size(), kNone);
  struct Lane {
    uint32_t last = kNone, before = kNone;
  };
  std::vector<Lane> lanes(rank.lanes);
  for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
    const Task& task = rank.tasks[i];
    const Lane& own = lanes[task.lane];
    Ns bound = own.last == kNone ? INT64_MIN : rank.tasks[own.last].end;
    if (task.launch != kNone) bound = std::max(bound, rank.calls[task.launch].begin + of.latency);
    if (bound == INT64_MIN || task.begin - bound > kBackToBack) {
      Ns latest = std::max(bound, task.begin - kNear);
      for (size_t lane = 0; lane < lanes.size(); ++lane) {
        if (lane == task.lane) continue;
        for (const uint32_t other : {lanes[lane].last, lanes[lane].before}) {
          if (other == kNone || rank.tasks[other].end > task.begin) continue;
          if (rank.tasks[other].end > latest) {
            latest = rank.tasks[other].end;
            cross[i] = other;
          }
          break;
        }
      }
    }
    lanes[task.lane] = {i, own.last};
  }
  FindUsualCross(number, cross);
  of.crosses.reserve(rank.tasks.size() - static_cast<size_t>(std::ranges::count(cross, kNone)));
  for (uint32_t i = 0; i < cross.size(); ++i) {
    if (cross[i] != kNone) of.crosses.push_back({i, cross[i]});
  }
}

// By the order of launches: a collective waits for the kernel before it, on the lane of most kernels; and a
// kernel for the collective right before it. Where that is nearly always so on a lane it is so where nothing
// else tells.
void Replay::FindUsualCross(size_t number, std::vector<uint32_t>& cross) const {
  const Rank& rank = job_.ranks[number];
  std::vector<size_t> kernels(rank.lanes);
  std::vector<uint32_t> by_launch;
  for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
    kernels[rank.tasks[i].lane] += rank.tasks[i].work != Work::kCollective;
    if (rank.tasks[i].launch != kNone) by_launch.push_back(i);
  }
  const auto busiest = static_cast<size_t>(std::ranges::max_element(kernels) - kernels.begin());
  SortNearlySorted(by_launch, [&rank](uint32_t a, uint32_t b) {
    return std::tie(rank.tasks[a].launch, a) < std::tie(rank.tasks[b].launch, b);
  });
  struct Count {
    size_t holds = 0, does_not = 0;
    bool IsUsual() const { return holds >= 4 * does_not; }
  };
  std::vector<Count> producers(rank.lanes), consumers(rank.lanes);  // by the collective's lane
  // `visit` a task, the one that it may wait for, and the count of that sort.
  const auto for_each = [&](auto visit) {
    uint32_t kernel = kNone, before = kNone;
    for (const uint32_t i : by_launch) {
      const Task& task = rank.tasks[i];
      if (task.work == Work::kCollective) {
        if (kernel != kNone && task.lane != busiest) visit(i, kernel, producers[task.lane]);
      } else if (task.lane == busiest) {
        if (before != kNone && rank.tasks[before].work == Work::kCollective &&
            rank.tasks[before].lane != busiest)
          visit(i, before, consumers[rank.tasks[before].lane]);
        kernel = i;
      }
      before = i;
    }
  };
  for_each([&](uint32_t task, uint32_t other, Count& count) {
    constexpr Ns kSlack = 1000;
    ++(rank.tasks[other].end <= rank.tasks[task].begin + kSlack ? count.holds : count.does_not);
  });
  for_each([&](uint32_t task, uint32_t other, const Count& count) {
    if (cross[task] == kNone && count.IsUsual() && other < task) cross[task] = other;
  });
}

Ns Replay::BoundOf(size_t number, size_t i, uint32_t before, uint32_t cross) const {
  const Rank& rank = job_.ranks[number];
  const Task& task = rank.tasks[i];
  Ns bound = INT64_MIN;
  if (before != kNone) bound = rank.tasks[before].end;
  if (cross != kNone) bound = std::max(bound, rank.tasks[cross].end);
  if (task.launch != kNone) bound = std::max(bound, LaunchedAt(number, task.launch) + ranks_[number].latency);
  return bound;
}

Ns Replay::Kept(size_t number, size_t i) const {
  const Rank& rank = job_.ranks[number];
  auto before = static_cast<uint32_t>(i);
  while (before > 0 && rank.tasks[before - 1].lane != rank.tasks[i].lane) --before;
  const std::vector<Cross>& crosses = ranks_[number].crosses;
  const auto at = std::ranges::lower_bound(crosses, i, {}, &Cross::task);
  const Ns bound = BoundOf(number, i, before == 0 ? kNone : before - 1,
                           at != crosses.end() && at->task == i ? at->other : kNone);
  return bound == INT64_MIN ? 0 : rank.tasks[i].begin - bound;
}

const Replay::Held* Replay::Find(const std::vector<Held>& held, size_t call) {
  const auto at = std::ranges::lower_bound(held, call, {}, &Held::call);
  return at != held.end() && at->call == call ? &*at : nullptr;
}

Ns Replay::OwnTime(size_t number, size_t i) const {
  const Call& call = job_.ranks[number].calls[i];
  const Held* held = Find(ranks_[number].waits, i);
  if (held == nullptr || job_.ranks[number].tasks[held->task].end < call.begin) return call.end - call.begin;
  return std::min<Ns>(held->tail, call.end - call.begin);
}

Lengths::OfRank& Replay::Touch(Lengths& lengths, size_t number) const {
  lengths.ranks.resize(job_.ranks.size());
  Lengths::OfRank& of = lengths.ranks[number];
  const Rank& rank = job_.ranks[number];
  if (of.task.size() != rank.tasks.size()) {
    of.task.resize(rank.tasks.size());
    for (size_t i = 0; i < of.task.size(); ++i) of.task[i] = rank.tasks[i].end - rank.tasks[i].begin;
    of.task_less.assign(rank.tasks.size(), 0);
    of.call_less.assign(rank.calls.size(), 0);
    of.within_call_less.assign(rank.calls.size(), 0);
  }
  return of;
}

std::vector<Ns>& Replay::TouchMatches(Lengths& lengths) const {
  lengths.match_less.resize(matches_.all.size());
  return lengths.match_less;
}

// One replay: every rank goes on until it needs a collective that is not complete.
class Replay::Engine {
 public:
  Engine(const Replay& replay, const Lengths* lengths)
      : replay_(replay),
        job_(replay.job_),
        lengths_(lengths),
        states_(job_.ranks.size()),
        matches_(replay.matches_.all.size()) {
    for (size_t i = 0; i < matches_.size(); ++i)
      matches_[i].missing = static_cast<uint32_t>(replay.matches_.all[i].members.size());
  }

  Outcome Run() {
    for (uint32_t rank = 0; rank < states_.size(); ++rank) {
      const Rank& of = job_.ranks[rank];
      states_[rank].end.resize(of.tasks.size());
      states_[rank].lane.assign(of.lanes, kNone);
      ready_.push_back(rank);
    }
    Outcome outcome;
    for (;;) {
      while (!ready_.empty()) {
        const uint32_t rank = ready_.front();
        ready_.pop_front();
        Advance(rank);
      }
      if (!ForceOne()) break;
      outcome.exact = false;
    }
    outcome.begin = replay_.measured_.begin;
    StepsOfJob steps(job_.steps.size());
    for (uint32_t r = 0; r < states_.size(); ++r) {
      const Rank& rank = job_.ranks[r];
      if (!replay_.IsWhole(rank)) continue;
      std::vector<Ns> done = DoneOf(rank, [&](size_t task) { return states_[r].end[task]; });
      if (rank.calls.empty()) {
        // A program whose calls are not known goes with its device.
        const std::vector<Ns> measured = DoneOf(rank, [&](size_t task) { return rank.tasks[task].end; });
        std::vector<Step>& program = states_[r].program = rank.steps;
        for (size_t i = 0; i < program.size(); ++i) {
          if (i > 0) program[i].begin += done[i - 1] - measured[i - 1];
          program[i].end += done[i] - measured[i];
        }
      } else {
        // Behind the last launch, too: a step ends with a call that waits.
        AdvanceCalls(r, static_cast<uint32_t>(rank.calls.size() - 1));
        PlaceSteps(r, INT64_MAX, INT64_MAX);
      }
      steps.Add(rank, done, states_[r].program);
    }
    steps.Fill(outcome.begin, outcome.step_end, outcome.length);
    return outcome;
  }

 private:
  static constexpr Ns kUnknown = INT64_MIN;  // the end of a collective that is not complete

  struct OfRank {
    std::vector<Ns> end;              // by task
    std::vector<uint32_t> lane;       // last task of each
    size_t task = 0, call = 0;        // the next ones
    size_t cross = 0;                 // of tasks that wait for another lane, the next one
    size_t wait = 0, pause = 0;       // of those that hold up a call, the next ones
    Ns call_begin = 0, call_end = 0;  // of the call before
    // Of all calls before, when the last of them came back; and as recorded.
    Ns back = 0, recorded_back = INT64_MIN;
    std::vector<Ns> launch_begin;  // by call: when what it launches is there
    std::vector<Step> program;     // steps, as the program would have had them
    size_t boundary = 0;           // of their begins and ends, the next one
    size_t late = 0;               // of calls that the program stopped in, the next one
    bool arrived = false;          // at the collective that is the next task
  };
  struct OfMatch {
    uint32_t missing = 0;
    Ns last = INT64_MIN;
    std::vector<uint32_t> waiting;                  // ranks
    std::vector<std::pair<uint32_t, Ns>> arrivals;  // index of member, when
    bool complete = false;
  };

  const Lengths::OfRank* Of(size_t rank) const {
    return lengths_ == nullptr || lengths_->ranks.empty() || lengths_->ranks[rank].task.empty()
               ? nullptr
               : &lengths_->ranks[rank];
  }

  // False: the collective that `task` is has to be waited for.
  bool EndOf(uint32_t rank, uint32_t task, Ns& end) {
    end = states_[rank].end[task];
    if (end != kUnknown) return true;
    const Task& of = job_.ranks[rank].tasks[task];
    matches_[job_.ranks[rank].collectives[of.kind].match].waiting.push_back(rank);
    return false;
  }

  // What holds up a call, if anything does; calls are asked for in their order.
  static const Held* Next(const std::vector<Held>& held, size_t& at, size_t call) {
    while (at < held.size() && held[at].call < call) ++at;
    return at < held.size() && held[at].call == call ? &held[at] : nullptr;
  }

  // Begins and ends of steps until a call that began at `recorded`, and begins at `begin`: a pause in front
  // of it that is shorter is so on both sides of them.
  void PlaceSteps(uint32_t number, Ns recorded, Ns begin) {
    OfRank& state = states_[number];
    const std::vector<Step>& steps = job_.ranks[number].steps;
    if (state.program.empty()) state.program = steps;
    for (; state.boundary < 2 * steps.size(); ++state.boundary) {
      const Step& step = steps[state.boundary / 2];
      const Ns at = state.boundary % 2 == 0 ? step.begin : step.end;
      if (at > recorded) return;
      Ns& to = state.boundary % 2 == 0 ? state.program[state.boundary / 2].begin
                                       : state.program[state.boundary / 2].end;
      if (state.recorded_back == INT64_MIN) continue;  // before the first call
      if (at < state.recorded_back) {
        const Call& before = job_.ranks[number].calls[state.call - 1];
        to = std::min(state.back, at + state.call_begin - before.begin);
      } else if (recorded == INT64_MAX || recorded == state.recorded_back) {
        to = state.back + at - state.recorded_back;
      } else {
        const double part = static_cast<double>(at - state.recorded_back) /
                            static_cast<double>(recorded - state.recorded_back);
        to = state.back + std::llround(part * static_cast<double>(begin - state.back));
      }
    }
  }

  // Calls up to `last`, it included. False: one waits for what is not known yet.
  bool AdvanceCalls(uint32_t number, uint32_t last) {
    OfRank& state = states_[number];
    const Rank& rank = job_.ranks[number];
    const Lengths::OfRank* lengths = Of(number);
    const Replay::OfRank& of = replay_.ranks_[number];
    if (state.launch_begin.empty()) state.launch_begin.resize(rank.calls.size());
    for (; state.call <= last; ++state.call) {
      const size_t i = state.call;
      const Call& call = rank.calls[i];
      Ns begin = call.begin;
      if (i > 0) {
        const Call& before = rank.calls[i - 1];
        if (call.begin >= state.recorded_back) {
          begin += state.back - state.recorded_back;
        } else {  // within another one, or beside one of another thread
          begin += call.begin >= before.end ? state.call_end - before.end : state.call_begin - before.begin;
        }
        if (const Held* pause = Next(of.pauses, state.pause, i);
            pause != nullptr && pause->task < state.task) {
          Ns there = 0;
          if (!EndOf(number, pause->task, there)) return false;
          const Ns tail = call.begin - rank.tasks[pause->task].end;
          begin = std::max(state.back, there) + tail;
        }
        if (lengths != nullptr) begin -= lengths->call_less[i];
      }
      const Ns less = lengths == nullptr ? 0 : lengths->within_call_less[i];
      const bool is_made = lengths == nullptr || lengths->no_call.empty() || !lengths->no_call[i];
      Ns end = begin + (is_made ? std::max<Ns>(0, call.end - call.begin - less) : 0);
      if (const Held* wait = Next(of.waits, state.wait, i);
          is_made && wait != nullptr && wait->task < state.task) {
        Ns there = 0;
        if (!EndOf(number, wait->task, there)) return false;
        end = std::max(begin + std::max<Ns>(0, replay_.OwnTime(number, i) - less),
                       there + std::max<Ns>(0, wait->tail - less));
      }
      PlaceSteps(number, call.begin, begin);
      while (state.late < of.lates.size() && of.lates[state.late].call < i) ++state.late;
      const bool is_late = state.late < of.lates.size() && of.lates[state.late].call == i;
      state.launch_begin[i] = begin + (is_late ? std::max<Ns>(0, of.lates[state.late].ns - less) : 0);
      state.call_begin = begin;
      state.call_end = end;
      // Of calls of several threads at a time the chain goes on with the last one.
      if (call.end < state.recorded_back) continue;
      state.back = end;
      state.recorded_back = call.end;
    }
    return true;
  }

  void Advance(uint32_t number) {
    OfRank& state = states_[number];
    const Rank& rank = job_.ranks[number];
    const Replay::OfRank& of = replay_.ranks_[number];
    const Lengths::OfRank* lengths = Of(number);
    for (; state.task < rank.tasks.size(); ++state.task) {
      const auto i = static_cast<uint32_t>(state.task);
      const Task& task = rank.tasks[i];
      Ns bound = INT64_MIN, there = 0;
      const uint32_t before = state.lane[task.lane];
      while (state.cross < of.crosses.size() && of.crosses[state.cross].task < i) ++state.cross;
      const uint32_t cross = state.cross < of.crosses.size() && of.crosses[state.cross].task == i
                                 ? of.crosses[state.cross].other
                                 : kNone;
      if (before != kNone) {
        if (!EndOf(number, before, there)) return;
        bound = there;
      }
      if (cross != kNone) {
        if (!EndOf(number, cross, there)) return;
        bound = std::max(bound, there);
      }
      if (task.launch != kNone) {
        if (state.call <= task.launch && !AdvanceCalls(number, task.launch)) return;
        bound = std::max(bound, state.launch_begin[task.launch] + of.latency);
      }
      Ns begin =
          bound == INT64_MIN ? task.begin : bound + task.begin - replay_.BoundOf(number, i, before, cross);
      if (lengths != nullptr) begin -= lengths->task_less[i];
      state.lane[task.lane] = i;
      const bool is_matched = task.work == Work::kCollective && rank.collectives[task.kind].match != kNone;
      if (is_matched) {
        state.end[i] = kUnknown;
        Arrive(number, rank.collectives[task.kind].match, begin);
      } else {
        state.end[i] = begin + (lengths != nullptr && task.work != Work::kCollective ? lengths->task[i]
                                                                                     : task.end - task.begin);
      }
    }
  }

  void Arrive(uint32_t rank, uint32_t index, Ns at) {
    OfMatch& match = matches_[index];
    const auto& members = replay_.matches_.all[index].members;
    const auto own = std::ranges::lower_bound(members, rank, {}, &Match::Member::rank);
    match.arrivals.emplace_back(static_cast<uint32_t>(own - members.begin()), at);
    match.last = std::max(match.last, at);
    if (match.complete || --match.missing == 0) Complete(index);  // of one that went without it, at once
  }

  void Complete(uint32_t index) {
    OfMatch& match = matches_[index];
    const TransferOf& measured = replay_.transfers_[index];
    const Ns less = lengths_ == nullptr || lengths_->match_less.empty() ? 0 : lengths_->match_less[index];
    for (const auto& [member, arrival] : match.arrivals) {
      const Match::Member& of = replay_.matches_.all[index].members[member];
      const Collective& own = job_.ranks[of.rank].collectives[of.collective];
      // One that left before the last one came has not waited for it: the root of a broadcast, a small part.
      const bool left_early = own.end <= measured.last;
      states_[of.rank].end[own.task] = left_early
                                           ? arrival + (own.end - own.begin) - less
                                           : std::max(arrival, match.last + (own.end - measured.last) - less);
    }
    match.complete = true;
    std::vector<std::pair<uint32_t, Ns>>().swap(match.arrivals);
    for (const uint32_t rank : match.waiting) ready_.push_back(rank);
    match.waiting.clear();
  }

  // Ranks wait for each other in a circle: the first collective that somebody waits for goes without the
  // others.
  bool ForceOne() {
    for (uint32_t i = 0; i < matches_.size(); ++i) {
      if (!matches_[i].complete && !matches_[i].waiting.empty() && !matches_[i].arrivals.empty()) {
        Complete(i);
        return true;
      }
    }
    return false;
  }

  const Replay& replay_;
  const Job& job_;
  const Lengths* lengths_;
  std::vector<OfRank> states_;
  std::vector<OfMatch> matches_;
  std::deque<uint32_t> ready_;
};

Replay::Outcome Replay::Run(const Lengths* lengths) const { return Engine(*this, lengths).Run(); }

Replay::Outcome Replay::FindMeasured() const {
  Outcome outcome;
  StepsOfJob steps(job_.steps.size());
  outcome.begin = INT64_MAX;
  for (const Rank& rank : job_.ranks) {
    if (!IsWhole(rank)) continue;
    for (size_t i = 0; i < rank.steps.size(); ++i) {
      if (rank.job_step[i] == 0) outcome.begin = std::min(outcome.begin, rank.steps[i].begin);
    }
    steps.Add(rank, DoneOf(rank, [&](size_t task) { return rank.tasks[task].end; }), rank.steps);
  }
  steps.Fill(outcome.begin, outcome.step_end, outcome.length);
  return outcome;
}

}  // namespace profd::analyze
