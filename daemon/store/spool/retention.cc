#include "daemon/store/spool/retention.h"

#include <tuple>

namespace profd::store {

namespace {

uint64_t HeldBy(uid_t uid, const Pressure& pressure) {
  const auto holding = pressure.holdings.find(uid);
  return holding == pressure.holdings.end() ? 0 : holding->second.all;
}

// Why it has to go whatever others have.
std::string OwnReason(const Kept& one, const Pressure& pressure) {
  const uint64_t age_ns = one.age_ns + (pressure.raw_ns - one.seen_raw_ns);
  if (pressure.max_age_ns > 0 && !one.of_running && age_ns > pressure.max_age_ns) {
    return "older than store.max_age_s";
  }
  const auto user = pressure.excess_by_uid.find(one.uid);
  if (user == pressure.excess_by_uid.end() || user->second == 0) return "";
  return "for the quota of user " + one.user + " (store.quota_per_user_bytes)";
}

}  // namespace

std::optional<uid_t> HoldsTooMuch(const Pressure& pressure) {
  std::optional<uid_t> most;
  uint64_t holds = pressure.fair;
  for (const auto& [uid, holding] : pressure.holdings) {
    if (holding.fixed <= holds) continue;
    most = uid;
    holds = holding.fixed;
  }
  return most;
}

std::optional<NextToGo> ChooseNextToGo(const std::vector<Kept>& kept, const Pressure& pressure) {
  const std::optional<uid_t> hog = HoldsTooMuch(pressure);
  std::optional<NextToGo> next;
  std::tuple<bool, bool, uint64_t, uint64_t> least;
  for (size_t i = 0; i < kept.size(); ++i) {
    const Kept& one = kept[i];
    if (one.pinned || one.not_before_ns > pressure.raw_ns) continue;
    std::string why = OwnReason(one, pressure);
    const bool is_for_all = why.empty();
    if (is_for_all) {
      if (pressure.excess == 0 || (hog && *hog != one.uid)) continue;
      why = "for room on the disk (store.keep_free_bytes, store.quota_spool_bytes)";
    }
    const uint64_t held = is_for_all ? HeldBy(one.uid, pressure) : 0;
    const std::tuple rank(one.of_running, is_for_all, UINT64_MAX - held, one.end_wall_ns);
    if (next && rank >= least) continue;
    next = NextToGo{i, std::move(why)};
    least = rank;
  }
  return next;
}

}  // namespace profd::store
