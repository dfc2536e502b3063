// Ranks × steps: what each rank did in each step, in several measures.
#pragma once

#include <string>
#include <vector>

#include "client/report/view.h"

namespace profd::report {

struct Measure {
  std::string id, title, what;
  std::vector<float> ms;  // by rank, then by column
};
struct Heat {
  size_t columns = 0, steps_each = 1;  // of many steps a column has several, and shows the largest
  std::vector<Measure> measures;
};
Heat HeatOf(const View& view);

// Who waits for whom, in ms of a step.
struct Waits {
  std::vector<size_t> waiting, waited_for;  // ranks by index, those with most of it; ascending
  std::vector<double> ms;                   // by waiting, then by waited_for
  double all_ms = 0;                        // of the mean rank
  bool is_whole = true;                     // all ranks are shown
};
Waits WaitsOf(const View& view);

}  // namespace profd::report
