// What went from one rank to another, over all recordings of a job.
#pragma once

#include <cstdint>
#include <map>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

// As Link, but `from` and `to` are ranks of the job; where a group's ranks are not known, they stay numbers
// within it.
std::map<Link, Carried> PairsOf(const Job& job);

}  // namespace profd::analyze
