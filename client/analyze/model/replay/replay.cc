#include "client/analyze/model/replay/replay.h"

#include <algorithm>
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
// else tells. A collective that the kernels behind it wait for holds up that lane: what is launched behind it
// waits for it, too, on whichever lane.
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
  std::vector<Count> producers(rank.lanes), consumers(rank.lanes),
      holders(rank.lanes);  // by the collective's lane
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
  const auto add = [&](uint32_t task, uint32_t other, Count& count) {
    constexpr Ns kSlack = 1000;
    ++(rank.tasks[other].end <= rank.tasks[task].begin + kSlack ? count.holds : count.does_not);
  };
  for_each(add);
  // Of collectives: the last one that has held up the lane of most kernels since its last kernel.
  const auto for_each_held = [&](auto visit) {
    uint32_t holder = kNone;
    for (const uint32_t i : by_launch) {
      const Task& task = rank.tasks[i];
      if (task.lane == busiest) {
        holder = kNone;
      } else if (task.work == Work::kCollective) {
        if (holder != kNone && rank.tasks[holder].lane != task.lane) visit(i, holder, holders[task.lane]);
        const Count& count = consumers[task.lane];
        if (count.holds > 0 && count.IsUsual()) holder = i;
      }
    }
  };
  for_each_held(add);
  for_each_held([&](uint32_t task, uint32_t other, const Count& count) {
    if (cross[task] == kNone && count.IsUsual() && other < task) cross[task] = other;
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
