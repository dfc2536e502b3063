// A job in the files of the vendor's analyser of many ranks (Ascend/msprof-analyze): a folder of each rank
// with what it reads, and cluster_analysis_output/cluster_analysis.db, which it would make of them and its
// viewer shows.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/analyze/analysis.h"

namespace profd::analyze {

// Writes into `folder`, which must be there; what of these files is there already is replaced. The files.
base::Result<std::vector<std::string>> WriteClusterOutput(const Analysis& analysis,
                                                          const std::string& folder);

// What the vendor calls a group wherever its own name might be too long: two hashes of 32 bits over its
// characters.
std::string GroupHash(std::string_view group);

}  // namespace profd::analyze
