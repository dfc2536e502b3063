// The part of the page that puts the job beside an earlier recording of it.
#pragma once

#include <string>

#include "client/analyze/compare/compare.h"

namespace profd::report {

// What of a step takes more and what less, where that comes from, and of which kernels, collectives and
// ranks.
std::string ComparedPart(const analyze::Comparison& comparison, const analyze::Runs& base,
                         const analyze::Runs& now);

}  // namespace profd::report
