// Files of text of one rank, as a framework's profiler leaves them: step_trace_time.csv, communication.json,
// communication_matrix.json.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "client/analyze/analysis.h"
#include "client/analyze/cluster/collective_ops.h"
#include "client/analyze/model/findings.h"

namespace profd::analyze {

struct LinkSum {
  double mb = 0, ms = 0;
  std::string op, transport;
};
// By step, type and group, link.
using Matrix =
    std::map<std::string, std::map<std::pair<std::string, std::string>, std::map<std::string, LinkSum>>>;

// Who sent what to whom is known of pairs; of collectives where their tasks are recorded, and then of all
// steps together.
Matrix MatrixOf(const Analysis& analysis, size_t r, const std::vector<Op>& ops);

// Into `folder`. `steps`: report `steps` of the job.
base::Status WriteRankTexts(const Rank& rank, const Table& steps, const std::vector<Op>& ops,
                            const Matrix& matrix, const std::string& folder, std::vector<std::string>& files);

}  // namespace profd::analyze
