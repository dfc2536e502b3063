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

}  // namespace profd::analyze
