#include "daemon/session/history/shares.h"

#include <algorithm>
#include <map>

namespace profd::session {

std::optional<size_t> NextToForget(const std::vector<Share>& oldest_first, const ShareLimits& limits) {
  struct Held {
    size_t count = 0, bytes = 0;
  };
  std::map<uid_t, Held> users;
  size_t bytes = 0;
  for (const Share& share : oldest_first) {
    ++users[share.uid].count;
    users[share.uid].bytes += share.bytes;
    bytes += share.bytes;
  }
  if (users.empty()) return std::nullopt;
  const auto most_by = [&](size_t Held::*figure) {
    return std::max_element(users.begin(), users.end(), [figure](const auto& a, const auto& b) {
      return a.second.*figure < b.second.*figure;
    });
  };
  auto most = most_by(&Held::count);
  if (most->second.count <= limits.of_user && oldest_first.size() <= limits.of_all) {
    if (bytes <= limits.bytes_of_all) return std::nullopt;
    most = most_by(&Held::bytes);
  }
  const auto oldest = std::find_if(oldest_first.begin(), oldest_first.end(),
                                   [uid = most->first](const Share& share) { return share.uid == uid; });
  return static_cast<size_t>(oldest - oldest_first.begin());
}

}  // namespace profd::session
