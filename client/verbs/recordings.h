// Recordings that a command line names, read for what a verb says of them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "client/analyze/analysis.h"
#include "client/node/context.h"

namespace profd::client {

// Analysis::Run(); on a terminal with a line that says how far the reading is.
base::Result<std::unique_ptr<analyze::Analysis>> Analyse(analyze::Request request);
// The same of sessions and directories as `given`, for plain tables; what is missing of them is noted.
base::Result<std::unique_ptr<analyze::Analysis>> AnalyseForTables(const Context& context,
                                                                  const std::vector<std::string>& given,
                                                                  analyze::Request request);

}  // namespace profd::client
