#include "client/analyze/model/groups.h"

#include <set>
#include <string>

namespace profd::analyze {

std::map<TextId, Members> MembersOf(const Job& job) {
  std::map<int64_t, uint32_t> index_of;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) index_of[job.ranks[r].number] = r;
  std::map<TextId, std::set<uint32_t>> users;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    for (const Collective& collective : job.ranks[r].collectives) users[collective.group].insert(r);
  }
  std::map<TextId, Members> groups;
  for (const auto& [group, own] : users) {
    const std::string name(job.Text(group));
    std::set<uint32_t> here = own;
    std::set<int64_t> absent;
    for (const uint32_t r : own) {
      const auto known = job.ranks[r].groups.find(name);
      if (known == job.ranks[r].groups.end()) continue;
      for (const int64_t number : known->second.ranks) {
        const auto at = index_of.find(number);
        if (at == index_of.end()) {
          absent.insert(number);
        } else {
          here.insert(at->second);
        }
      }
    }
    groups[group] = {{here.begin(), here.end()}, {absent.begin(), absent.end()}};
  }
  return groups;
}

}  // namespace profd::analyze
