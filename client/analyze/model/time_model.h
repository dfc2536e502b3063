// Where the time of a step goes on one device: computing, communicating, both, neither.
#pragma once

#include <vector>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

// Of one rank and one step, in ns; the vendor's terms (step_trace_time.csv). A task is of the step in which
// its call begins, so it may end behind the step's end.
struct StepShares {
  Ns step = 0;           // as long as the program's step was
  Ns computing = 0;      // union of kernels
  Ns communication = 0;  // union of collectives
  Ns overlapped = 0;     // both at once
  Ns exposed = 0;        // communication without computing: Communication(Not Overlapped)
  Ns free = 0;           // step less the union of both
  Ns bubble = 0;         // sum of receives
  Ns preparing = 0;      // from the step's begin to the first task
  Ns stage() const { return computing + exposed + free - bubble; }
};

// By index in Rank::steps.
std::vector<StepShares> SharesOf(const Job& job, const Rank& rank);

}  // namespace profd::analyze
