// The part of the page that puts the job beside an earlier recording of it.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/analyze/analysis.h"
#include "client/analyze/compare/compare.h"

namespace profd::report {

// What of a step takes more and what less, where that comes from, and of which kernels, collectives and
// ranks.
std::string ComparedPart(const analyze::Comparison& comparison, const analyze::Runs& base,
                         const analyze::Runs& now);

// The same of recordings that are still to be read; each of `before` is a run of its own.
base::Result<std::string> ComparedPart(const std::vector<std::vector<std::string>>& before,
                                       const analyze::Request& now);

}  // namespace profd::report
