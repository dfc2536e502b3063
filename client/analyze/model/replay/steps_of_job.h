// What ranks make of the steps of a job: when each begins, and when all of it is done.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

// By step of a rank, when the last of its tasks is done; INT64_MIN: it has none. Where their times make no
// sense, when the program has ended it.
template <typename EndOf>
std::vector<Ns> DoneOf(const Rank& rank, EndOf end_of) {
  std::vector<Ns> done(rank.steps.size(), INT64_MIN);
  if (rank.gaps.are_times_wrong()) {
    for (size_t i = 0; i < done.size(); ++i) done[i] = rank.steps[i].end;
    return done;
  }
  for (size_t i = 0; i < rank.tasks.size(); ++i) {
    if (const uint32_t step = rank.tasks[i].step; step != kNone) done[step] = std::max(done[step], end_of(i));
  }
  return done;
}

class StepsOfJob {
 public:
  explicit StepsOfJob(size_t count);

  // Of one rank: `done` by step, and its steps as the program has them.
  void Add(const Rank& rank, const std::vector<Ns>& done, const std::vector<Step>& program);

  // `device_end`: when no device has any more to do for a step; `length`: how long it is itself. `begin`: of
  // the first one.
  void Fill(Ns begin, std::vector<Ns>& device_end, std::vector<Ns>& length);

 private:
  std::vector<Ns> begin_, end_, device_end_;
};

}  // namespace profd::analyze
