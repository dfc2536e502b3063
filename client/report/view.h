// What all parts of the page look at: an analysis, its span of time, and where each finding is to be seen.
#pragma once

#include <string>
#include <vector>

#include "client/analyze/analysis.h"

namespace profd::report {

using analyze::Ns;

// Where on the time axis a finding is to be seen.
struct Place {
  size_t rank = 0;  // index in Job::ranks
  Ns from = 0, to = 0;
  int64_t step = 0;
  std::string what;
};
struct StepTime {
  Ns begin = 0, end = 0;  // of the first rank that begins it, of the last one that ends it
};

struct View {
  explicit View(const analyze::Analysis& analysis);

  const analyze::Analysis& analysis;
  const analyze::Job& job;
  Ns begin = 0, end = 0;                   // of all that was recorded of tasks, calls and steps
  std::vector<StepTime> steps;             // by index in Job::steps
  std::vector<std::vector<Place>> places;  // by finding; at least one, where there is any step
  std::vector<size_t> reference;  // by rank: a rank of the same work that no finding names, or itself

  // Index in Job::ranks.
  size_t IndexOf(int64_t rank) const;
};

}  // namespace profd::report
