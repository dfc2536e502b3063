// What of that which the rules have found is worth a word: each cause is replayed away, alone and last.
#pragma once

#include <string>
#include <vector>

#include "client/analyze/model/findings.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {

struct Summary {
  double step_ms_mean = 0, step_ms_p50 = 0, step_ms_p95 = 0;
  double compute_ms = 0, exposed_ms = 0, waiting_ms = 0, idle_ms = 0;  // mean over ranks
  bool knows_devices = true;  // false: what these are cannot be told from times that make no sense
  double ideal_ms = 0;        // with everything mended at once
  double unexplained_ms = 0;  // of the busiest rank: neither work nor what a finding tells of
  double replay_error = 0;    // of the recording replayed as it was
  bool exact = true;
};
struct Verdict {
  std::vector<Finding> findings;  // most severe first; then those that happened once, by their total
  std::vector<NotRun> not_run;
  Summary summary;
};

// `wanted`: as IsWanted(). The result does not depend on `jobs`.
Verdict Judge(const Context& context, const std::vector<std::string>& wanted, unsigned jobs);

// Whether --rules lets it be told, by its id or by that of a cause: "all", "rank.late", "comm", and
// "-host.stall" for all but that.
bool IsWanted(const Finding& finding, const std::vector<std::string>& wanted);

}  // namespace profd::analyze
