// A job out of what was read: ranks told apart and in order, texts and classes in one numbering, steps that
// all of them share.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/analyze/model/columns.h"
#include "client/analyze/reading/rank_builder.h"

namespace profd::analyze {

struct Reading {
  unsigned jobs = 1;       // sources at a time; the result does not depend on it
  bool keeps_all = false;  // the lengths of all calls of the host, and short ranges, too: for tables of them
  bool recursive = false;  // see FindSources()
  std::function<void(size_t done, size_t all)> progress = {};  // 0 of 0: while they are looked for
};

// Reads everything at and below `paths`. kNotFound: there is nothing to analyse, or no step that all ranks
// have. kInvalidArgument: there are several runs.
base::Result<Job> ReadJob(const std::vector<std::string>& paths, const Reading& reading);

// Parts in the order that decides what wins where two tell of one rank: of the later recording.
Job Join(std::vector<Part> parts);

}  // namespace profd::analyze
