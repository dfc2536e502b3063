#include "daemon/store/spool/retention.h"

#include <tuple>

namespace profd::store {

std::optional<NextToGo> ChooseNextToGo(const std::vector<Kept>& kept, const Pressure& pressure) {
  const auto reason = [&](const Kept& one) -> std::string {
    if (one.pinned || one.not_before_ns > pressure.raw_ns) return "";
    if (pressure.max_age_ns > 0 && !one.of_running &&
        one.end_wall_ns + pressure.max_age_ns < pressure.wall_ns) {
      return "older than store.max_age_s";
    }
    if (const auto user = pressure.excess_by_uid.find(one.uid);
        user != pressure.excess_by_uid.end() && user->second > 0) {
      return "for the quota of user " + one.user + " (store.quota_per_user_bytes)";
    }
    return pressure.excess > 0 ? "for room on the disk (store.keep_free_bytes, store.quota_spool_bytes)" : "";
  };
  std::optional<NextToGo> next;
  for (size_t i = 0; i < kept.size(); ++i) {
    std::string why = reason(kept[i]);
    if (why.empty()) continue;
    const auto rank = [&](size_t index) {
      return std::tuple(kept[index].of_running, kept[index].end_wall_ns);
    };
    if (!next || rank(i) < rank(next->index)) next = NextToGo{i, std::move(why)};
  }
  return next;
}

}  // namespace profd::store
