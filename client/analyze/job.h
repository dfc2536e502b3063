// A job out of what was read: ranks told apart and in order, texts and classes in one numbering, steps that
// all of them share.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/analyze/model/columns.h"
#include "client/analyze/reading/rank_builder.h"

namespace profd::analyze {

// Reads everything at and below `paths`, `jobs` sources at a time. The result does not depend on `jobs`.
// kNotFound: there is nothing to analyse, or no step that all ranks have. kInvalidArgument: there are several
// runs. `keeps_all`: the lengths of all calls of the host, and short ranges, too: for tables that count them.
base::Result<Job> ReadJob(const std::vector<std::string>& paths, unsigned jobs, bool keeps_all = false);

// Parts in the order that decides what wins where two tell of one rank: of the later recording.
Job Join(std::vector<Part> parts);

}  // namespace profd::analyze
