#include "client/analyze/rules/host/stall_pieces.h"

#include <map>
#include <utility>

namespace profd::analyze {
namespace {

constexpr Ns kLeastIdle = 50'000;

// When nothing at all ran on a device.
std::vector<Interval> IdleOf(const Rank& rank) {
  std::vector<Interval> idle;
  Ns reached = INT64_MAX;
  for (const Task& task : rank.tasks) {
    if (task.begin - kLeastIdle >= reached) idle.push_back({reached, task.begin});
    reached = reached == INT64_MAX ? task.end : std::max(reached, task.end);
  }
  if (!rank.steps.empty() && rank.steps.back().end > reached)
    idle.push_back({reached, rank.steps.back().end});
  return idle;
}

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

// What a call that waits takes when all devices of its program are done: `own` at most. Of each device only
// its own tasks are known to have been waited for.
Ns BehindOthers(const Job& job, const std::vector<uint32_t>& program, uint32_t r, const Call& call, Ns own) {
  constexpr ptrdiff_t kMostLanes = 64;  // tasks that may be running at a time
  for (const uint32_t other : program) {
    if (other == r) continue;
    const std::vector<Task>& tasks = job.ranks[other].tasks;
    const auto behind = std::ranges::lower_bound(tasks, call.end, {}, &Task::begin);
    for (auto at = behind - std::min(behind - tasks.begin(), kMostLanes); at != behind; ++at) {
      if (at->end <= call.end) own = std::min(own, call.end - at->end);
    }
  }
  return own;
}

}  // namespace

PiecesOfRank PiecesOf(const Context& context, uint32_t r, const std::vector<uint32_t>& program, Ns least) {
  const Rank& rank = context.job.ranks[r];
  PiecesOfRank of;
  of.calls_in_step.resize(context.job.steps.size());
  const std::vector<Interval> idle = IdleOf(rank);
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
      const auto gap = std::ranges::lower_bound(idle, rank.tasks[i].begin, {}, &Interval::end);
      if (gap == idle.end() || gap->end != rank.tasks[i].begin || gap->end - gap->begin < least) continue;
      Piece piece = piece_of(static_cast<uint32_t>(i), step, ordinal, gap->begin, gap->end);
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
    Ns own = !waits                                ? call.end - call.begin
             : call.kind == CallKind::kSynchronise ? context.replay.OwnTime(r, i)
                                                   : 0;
    if (call.kind == CallKind::kSynchronise && own >= least)
      own = BehindOthers(context.job, program, r, call, own);
    if (own < least || Overlap(idle, call.end - own, call.end) < least) continue;
    Piece piece = piece_of(i, steps[i], ordinal, call.end - own, call.end);
    piece.in_call = true;
    piece.is_tail = waits;
    if (piece.step != kNone) AddInCall(rank, piece, of.pieces);
  }
  return of;
}

Ns MostOf(const Job& job, std::span<const Piece> pieces) {
  std::map<uint32_t, std::vector<Interval>> idle_of;  // by rank
  std::vector<Interval> idle;
  for (const Piece& piece : pieces) {
    const auto [at, is_new] = idle_of.try_emplace(piece.rank);
    if (is_new) at->second = IdleOf(job.ranks[piece.rank]);
    ForEachOverlap(at->second, piece.from, piece.to, [&](Ns from, Ns to) { idle.push_back({from, to}); });
  }
  Ns sum = 0;
  for (const Interval& one : Union(std::move(idle))) sum += one.end - one.begin;
  return sum + static_cast<Ns>(pieces.size()) * kLeastIdle;
}

}  // namespace profd::analyze
