// profctl export --cluster-output: a job in the files of the vendor's analyser of many ranks.
#pragma once

#include <string>
#include <vector>

#include "client/node/context.h"
#include "client/words/exit_code.h"

namespace profd::client {

// `given`: directories, databases, sessions.
ExitCode ExportCluster(const Context& context, const std::vector<std::string>& given, const std::string& out,
                       unsigned jobs);

}  // namespace profd::client
