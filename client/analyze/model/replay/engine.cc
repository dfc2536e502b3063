// One run of a replay.
#include <algorithm>
#include <cmath>
#include <deque>
#include <utility>
#include <vector>

#include "client/analyze/model/replay/replay.h"
#include "client/analyze/model/replay/steps_of_job.h"

namespace profd::analyze {

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
      if (rank.gaps.are_times_wrong()) {
        states_[r].program = rank.steps;
      } else if (rank.calls.empty()) {
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

}  // namespace profd::analyze
