#include "client/analyze/model/pairs.h"

#include <algorithm>
#include <string>
#include <vector>

namespace profd::analyze {

std::map<Link, Carried> PairsOf(const Job& job) {
  std::map<Link, Carried> pairs;
  for (const Rank& rank : job.ranks) {
    std::map<TextId, std::vector<int64_t>> ranks_of;
    for (const auto& [link, carried] : rank.links) {
      const auto [of, is_new] = ranks_of.try_emplace(link.group);
      std::vector<int64_t>& ranks = of->second;
      if (is_new) {
        const auto known = rank.groups.find(std::string(job.Text(link.group)));
        if (known != rank.groups.end()) ranks = known->second.ranks;
        std::ranges::sort(ranks);
      }
      const auto number = [&ranks](int64_t within) {
        return within < 0 || static_cast<size_t>(within) >= ranks.size() ? within
                                                                         : ranks[static_cast<size_t>(within)];
      };
      Carried& sum = pairs[{link.group, link.transport, number(link.from), number(link.to)}];
      sum.bytes += carried.bytes;
      sum.count += carried.count;
      sum.ns += carried.ns;
    }
  }
  return pairs;
}

}  // namespace profd::analyze
