// What a comparison prints: for people, and as profd.compare/1.
#pragma once

#include <string>

#include "client/analyze/compare/compare.h"

namespace profd::analyze {

// `top`: so many kinds of kernels, of collectives and ranks at most.
std::string ComparisonText(const Comparison& comparison, const Runs& base, const Runs& now, size_t top);
std::string ComparisonJson(const Comparison& comparison, const Runs& base, const Runs& now);

}  // namespace profd::analyze
