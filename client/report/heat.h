// Ranks × steps: what each rank did in each step, in several measures.
#pragma once

#include <string>
#include <vector>

#include "client/report/view.h"

namespace profd::report {

// Who holds up a collective: not who comes last, but who took longer than the others since the collective
// before. A rank that comes last because it waited for another one there passes the blame on to that one.
class Blame {
 public:
  explicit Blame(const View& view);
  // Index in Job::ranks; of a match without members 0.
  size_t Of(size_t match) const { return blamed_[match]; }
  // By member of a match: how much later than the middle of the group it comes, of its own doing.
  const std::vector<Ns>& Late(size_t match) const { return late_[match]; }

 private:
  std::vector<size_t> blamed_;
  std::vector<std::vector<Ns>> late_;
};

struct Measure {
  std::string id, title, what;
  std::vector<float> ms;  // by rank, then by column
};
struct Heat {
  size_t columns = 0, steps_each = 1;  // of many steps a column has several, and shows the largest
  std::vector<Measure> measures;
};
Heat HeatOf(const View& view, const Blame& blame);

// Who waits for whom, in ms of a step.
struct Waits {
  std::vector<size_t> waiting, waited_for;  // ranks by index, those with most of it; ascending
  std::vector<double> ms;                   // by waiting, then by waited_for
  double all_ms = 0;                        // of the mean rank
  bool is_whole = true;                     // all ranks are shown
};
Waits WaitsOf(const View& view, const Blame& blame);

}  // namespace profd::report
