// What a job would have taken if some of its parts had been shorter or longer: all begins computed anew from
// given lengths. Nodes are tasks, collectives and calls of the host; edges:
//   - what is on one lane (a stream, a group's collectives) happens in order;
//   - a collective ends when the last of its ranks has come and the data are across;
//   - a task begins after its call, plus the smallest time that has ever taken; after the end of one that
//     the program stopped in;
//   - calls of a program follow each other; one that waited for the device waits for the same task again;
//   - a task that began right behind another lane's waits for it (events are not in every log).
// What is left between a task and all that it waited for is kept as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "client/analyze/model/columns.h"
#include "client/analyze/model/match/match.h"

namespace profd::analyze {

// What differs from the recording. Empty vectors: nothing.
struct Lengths {
  struct OfRank {
    std::vector<Ns> task;       // length, by task; of collectives it counts for nothing
    std::vector<Ns> call_less;  // by call: so much less between the call before and the begin of this one
    std::vector<Ns> within_call_less;  // by call: it takes so much less itself
    std::vector<Ns> task_less;         // by task: so much less of what is kept in front of it
    std::vector<bool> no_call;         // by call: it is not made, and waits for nothing; empty: all are
  };
  std::vector<OfRank> ranks;   // by rank
  std::vector<Ns> match_less;  // by match: so much less for the data
};

// **Thread:** any, once made.
class Replay {
 public:
  Replay(const Job& job, const Matches& matches, unsigned jobs);

  struct Outcome {
    std::vector<Ns> step_end;  // by index in Job::steps: when the last rank's last task ended
    // By index in Job::steps: from the begin of the first program's step, or from the end of the step before,
    // until all programs have ended it and its tasks are done.
    std::vector<Ns> length;
    Ns begin = 0;       // of the first step
    bool exact = true;  // false: ranks wait for each other crosswise, and some edges were cut
    // Mean time of the steps that are analysed, ns: all that passes until their tasks are done.
    double Mean(size_t first) const;
    // Of each of them: what passes from one end to the next, and how long it is itself.
    std::vector<Ns> Times(size_t first) const;
    std::vector<Ns> Lengths(size_t first) const;
  };
  // nullptr: as recorded.
  Outcome Run(const Lengths* lengths) const;
  // Of the recording itself.
  const Outcome& Measured() const { return measured_; }

  // As if a call took so much less, and with it those that it was made in.
  void ShortenCall(Lengths& lengths, size_t rank, size_t call, Ns less) const;
  // To be changed: made as recorded where it has not been touched.
  Lengths::OfRank& Touch(Lengths& lengths, size_t rank) const;
  std::vector<Ns>& TouchMatches(Lengths& lengths) const;

  // Steps end by the ranks of which nothing is missing; where there is none, by all.
  bool IsWhole(const Rank& rank) const { return !any_is_whole_ || !rank.gaps.any(); }

  const Job& job() const { return job_; }
  const Matches& matches() const { return matches_; }
  // Time between a task and everything that it waited for.
  Ns Kept(size_t rank, size_t task) const;
  // What a call waited for on the device; kNone: nothing.
  uint32_t WaitOf(size_t rank, size_t call) const {
    const Held* held = Find(ranks_[rank].waits, call);
    return held == nullptr ? kNone : held->task;
  }
  // The same of the pause in front of it.
  uint32_t PauseOf(size_t rank, size_t call) const {
    const Held* held = Find(ranks_[rank].pauses, call);
    return held == nullptr ? kNone : held->task;
  }
  // What a call takes of itself: what it waited for is not in it.
  Ns OwnTime(size_t rank, size_t call) const;
  // The shortest time of a collective over its ranks, and when the last of them came.
  Ns Transfer(size_t match) const { return transfers_[match].length; }
  Ns LastArrival(size_t match) const { return transfers_[match].last; }
  Ns Latency(size_t rank) const { return ranks_[rank].latency; }

 private:
  // A call that was held up by a task: few are.
  struct Held {
    uint32_t call = 0, task = 0;
    Ns tail = 0;  // from that task's end to the call's
  };
  // A task that waits for one of another lane.
  struct Cross {
    uint32_t task = 0, other = 0;
  };
  struct Late {
    uint32_t call = 0;
    Ns ns = 0;
  };
  struct OfRank {
    std::vector<Cross> crosses;  // by task: those that wait for one of another lane
    // By call: those that waited for a task, and those in front of which the program did, in no call we know.
    std::vector<Held> waits, pauses;
    // Launches that the program stopped in: what they launched came that much later than they began.
    std::vector<Late> lates;
    Ns latency = 0;
  };
  struct TransferOf {
    Ns length = 0, last = 0;
  };
  class Engine;

  void FindWaits(size_t rank);
  void FindLates(size_t rank, Ns usual);
  // When a call launched something.
  Ns LaunchedAt(size_t rank, size_t call) const;
  void FindCross(size_t rank);
  void FindUsualCross(size_t rank, std::vector<uint32_t>& cross) const;
  // When everything that a task is known to wait for was done; INT64_MIN: nothing is known. `before`: the
  // task before it on its lane, `cross` that of another one.
  Ns BoundOf(size_t rank, size_t task, uint32_t before, uint32_t cross) const;
  static const Held* Find(const std::vector<Held>& held, size_t call);
  Outcome FindMeasured() const;
  const Job& job_;
  const Matches& matches_;
  const bool any_is_whole_;
  std::vector<OfRank> ranks_;
  std::vector<TransferOf> transfers_;
  Outcome measured_;
};

}  // namespace profd::analyze
