// Ranks that make others wait: one finding for each, and one for many that have one cause.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 50;

Finding Together(const Context& context, std::vector<Late>& all) {
  const Job& job = context.job;
  const Late& most = *std::ranges::max_element(all, {}, &Late::more);
  std::vector<uint32_t> ranks;
  std::set<uint32_t> steps;
  std::vector<std::function<void(const Replay&, Lengths&)>> without;
  Table table{"ranks that are late", {"rank", "steps", "why"}, {}};
  for (Late& one : all) {
    ranks.push_back(one.rank);
    steps.insert(one.finding.steps.begin(), one.finding.steps.end());
    if (table.rows.size() < kMostRows)
      table.rows.push_back(
          {job.ranks[one.rank].number, static_cast<int64_t>(one.finding.steps.size()), one.why});
    without.push_back(one.finding.without);
  }
  Finding joint = most.finding;
  joint.key = "rank.late/many/" + most.part;
  joint.title = RanksName(job, ranks) + " are late, rank " + std::to_string(job.ranks[most.rank].number) +
                " the most: " + most.why;
  joint.where = WhereOf(job, ranks);
  for (const uint32_t r : ranks) joint.where.devices.push_back(job.ranks[r].device);
  joint.steps.assign(steps.begin(), steps.end());
  joint.evidence.insert(joint.evidence.begin(), std::move(table));
  joint.without = [without = std::move(without)](const Replay& replay, Lengths& lengths) {
    for (const auto& one : without) one(replay, lengths);
  };
  return joint;
}

}  // namespace

Late LateRank(const Context& context, uint32_t r, std::string part, std::string_view cause, double more,
              std::string why, std::vector<uint32_t> steps) {
  const Rank& rank = context.job.ranks[r];
  Late late{r, more, std::move(part), std::move(why), {}};
  late.finding.id = "rank.late";
  late.finding.key = "rank.late/" + std::to_string(rank.number) + "/" + late.part;
  late.finding.where = WhereOf(rank);
  late.finding.steps = std::move(steps);
  late.finding.causes = {{std::string(cause), 1}};
  return late;
}

void TellLate(const Context& context, size_t peers, std::vector<Late> all, std::vector<Finding>& findings) {
  std::map<std::string, std::vector<Late>> by_cause;
  for (Late& late : all) by_cause[late.finding.causes.back().id].push_back(std::move(late));
  for (auto& [cause, of] : by_cause) {
    if (of.size() > 1 && 2 * of.size() >= peers) {
      findings.push_back(Together(context, of));
      continue;
    }
    for (Late& late : of) {
      late.finding.title = RankName(context.job.ranks[late.rank]) + " is late: " + late.why;
      findings.push_back(std::move(late.finding));
    }
  }
}

}  // namespace profd::analyze
