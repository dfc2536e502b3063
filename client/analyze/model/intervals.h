// Times that something lasts.
#pragma once

#include <algorithm>
#include <vector>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

struct Interval {
  Ns begin = 0, end = 0;
};

// By begin; those that overlap or touch become one.
inline std::vector<Interval> Union(std::vector<Interval> of) {
  std::ranges::sort(of, {}, &Interval::begin);
  std::vector<Interval> joined;
  for (const Interval& one : of) {
    if (!joined.empty() && one.begin <= joined.back().end) {
      joined.back().end = std::max(joined.back().end, one.end);
    } else {
      joined.push_back(one);
    }
  }
  return joined;
}

// What of a time is in them: `take` gets begin and end of each piece. `of`: by begin, none overlaps another.
template <typename Take>
void ForEachOverlap(const std::vector<Interval>& of, Ns from, Ns to, Take take) {
  for (auto at = std::ranges::upper_bound(of, from, {}, &Interval::end); at != of.end() && at->begin < to;
       ++at)
    take(std::max(from, at->begin), std::min(to, at->end));
}
inline Ns Overlap(const std::vector<Interval>& of, Ns from, Ns to) {
  Ns sum = 0;
  ForEachOverlap(of, from, to, [&sum](Ns begin, Ns end) { sum += end - begin; });
  return sum;
}

}  // namespace profd::analyze
