// What a comparison prints: for people, and as profd.compare/1.
#pragma once

#include <string>

#include "client/analyze/compare/compare.h"

namespace profd::analyze {

// `top`: so many kinds of kernels, of collectives and ranks at most. `columns` of the screen, 0: no limit; on
// a narrow one the intervals are left out.
std::string ComparisonText(const Comparison& comparison, const Runs& base, const Runs& now, size_t top,
                           size_t columns);
std::string ComparisonJson(const Comparison& comparison, const Runs& base, const Runs& now);

}  // namespace profd::analyze
