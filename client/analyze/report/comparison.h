// What a comparison prints: for people, and as profd.compare/1.
#pragma once

#include <string>

#include "client/analyze/compare/compare.h"

namespace profd::analyze {

// `top`: so many kinds of kernels, of collectives and ranks at most.
std::string ComparisonText(const Comparison& comparison, const Run& base, const Run& now, size_t top);
std::string ComparisonJson(const Comparison& comparison, const Run& base, const Run& now);

}  // namespace profd::analyze
