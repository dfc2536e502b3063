// Who communicates with whom.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

// Of a group: ranks that use it, and those that should, as any of them says.
struct Members {
  std::vector<uint32_t> ranks;  // indexes in Job::ranks, ascending
  std::vector<int64_t> absent;  // numbers of those that are not recorded, ascending
  size_t size() const { return ranks.size() + absent.size(); }
};
// By name of the group.
std::map<TextId, Members> MembersOf(const Job& job);

}  // namespace profd::analyze
