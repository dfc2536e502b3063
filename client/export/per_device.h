// A PROF directory for each device of one, as analysers of many ranks want it: they take every PROF directory
// for one rank, whatever is in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "client/export/exporter.h"
#include "client/export/read/capture.h"

namespace profd::client {

// What exports a capture's devices one by one below `options.out`, each as a directory of its own: those that
// it has or that its programs have told of, and that are wanted.
base::Result<std::vector<ExportOptions>> ByDevice(const std::string& directory, const ExportOptions& options);

// "device_<N>/info.json.<N>".
std::string RankInfoName(int64_t device);
// That file in `root`, with the device's rank: how analysers know a directory and its rank.
base::Status WriteRankInfo(const base::UniqueFd& root, const std::string& shown, const Capture& capture,
                           int64_t device);

}  // namespace profd::client
