#include "daemon/host/process/weights.h"

#include <algorithm>
#include <map>

namespace profd::host {

std::vector<pid_t> TooHeavy(std::vector<Weight> weights) {
  std::ranges::sort(weights, std::ranges::greater(), &Weight::bytes);
  std::map<uid_t, uint64_t> of_user;
  uint64_t all = 0;
  for (const Weight& weight : weights) {
    of_user[weight.user] += weight.bytes;
    all += weight.bytes;
  }
  std::vector<pid_t> too_heavy;
  while (!weights.empty()) {
    const auto most = std::ranges::max_element(of_user, {}, [](const auto& each) { return each.second; });
    if (most->second <= kMostOfUserBytes && all <= kMostOfAllBytes) break;
    const auto largest = std::ranges::find(weights, most->first, &Weight::user);
    if (largest == weights.end()) break;
    too_heavy.push_back(largest->pid);
    most->second -= largest->bytes;
    all -= largest->bytes;
    weights.erase(largest);
  }
  return too_heavy;
}

}  // namespace profd::host
