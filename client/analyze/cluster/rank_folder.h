// A folder of one rank, as a framework's profiler makes it and the vendor's analyser finds it.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/analyze/analysis.h"

namespace profd::analyze {

inline constexpr char kRankResults[] = "ASCEND_PROFILER_OUTPUT";

// "<node>_<rank>_<stamp>_ascend_pt".
std::string FolderName(const Rank& rank);

// `folder` with kRankResults in it, which rank it is and what is known of its groups; their paths go to
// `files`.
base::Status MakeRankFolder(const Analysis& analysis, const Rank& rank, const std::string& folder,
                            std::vector<std::string>& files);

// As the text of a file; what is no UTF-8 is replaced.
std::string Dumped(const nlohmann::ordered_json& json);
base::Status MakeFolder(const std::string& path);
base::Status WriteFile(const std::string& path, std::string_view text, std::vector<std::string>& files);

// Numbers of the ranks of a group: as the framework says, else who uses it.
std::vector<int64_t> RanksOf(const Job& job, const GroupOf& group, const std::string& name);

}  // namespace profd::analyze
