// profctl export --cluster-output, --layout and --per-device: a job in the files of the vendor's analyser of
// many ranks.
#pragma once

#include <string>
#include <vector>

#include "client/export/exporter.h"
#include "client/node/context.h"
#include "client/words/exit_code.h"

namespace profd::client {

// `given`: directories, databases, sessions.
ExitCode ExportCluster(const Context& context, const std::vector<std::string>& given, const std::string& out,
                       unsigned jobs);

// What `results`, a directory for each rank, are as a job: beside their databases, where there are some. With
// `out`: moved into folders there, as a framework's.
ExitCode AnalyzeRanks(const Context& context, unsigned jobs, const std::string& out,
                      std::vector<ExportResult>& results);

}  // namespace profd::client
