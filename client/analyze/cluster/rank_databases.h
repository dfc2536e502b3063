// What the vendor's `msprof --analyze` makes of one rank's directory, for its analyser of many:
// analyze/communication_analyzer.db.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/analyze/analysis.h"

namespace profd::analyze {

// One for each rank, in the folder of its database. The files.
base::Result<std::vector<std::string>> WriteRankDatabases(const Analysis& analysis);

// The same as a framework leaves it: each rank's directory, of which `analysis` has read the database, goes
// into a folder of its own below `out`, with analysis.db, files of text, and its timeline. The files.
base::Result<std::vector<std::string>> WriteRankFolders(const Analysis& analysis, const std::string& out);

}  // namespace profd::analyze
