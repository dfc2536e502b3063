// How fast the clock of a rank's device ran while it computed.
#pragma once

#include <algorithm>
#include <cstddef>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

// Over the time of kernels that compute; all 0 if no frequency is known.
struct ClockUse {
  double mean_mhz = 0;
  double below = 0;  // part of the time in which it was below the rated one
  double lost = 0;   // by what part it was below the rated one, in the mean
};

inline ClockUse ClockOf(const Rank& rank) {
  ClockUse use;
  double busy = 0;
  size_t at = 0;
  for (const Task& task : rank.tasks) {
    if (rank.frequencies.empty()) break;
    if (task.work != Work::kCompute) continue;
    while (at + 1 < rank.frequencies.size() && rank.frequencies[at + 1].at <= task.begin) ++at;
    if (rank.frequencies[at].at > task.begin) continue;
    const double mhz = rank.frequencies[at].mhz;
    const auto length = static_cast<double>(task.end - task.begin);
    busy += length;
    use.mean_mhz += length * mhz;
    if (rank.rated_mhz <= 0) continue;
    if (mhz < rank.rated_mhz) use.below += length;
    use.lost += length * std::max(0.0, 1 - mhz / rank.rated_mhz);
  }
  if (busy <= 0) return {};
  return {use.mean_mhz / busy, use.below / busy, use.lost / busy};
}

}  // namespace profd::analyze
