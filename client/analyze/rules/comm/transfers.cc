#include "client/analyze/rules/comm/transfers.h"

#include <algorithm>
#include <bit>
#include <set>

namespace profd::analyze {

TransferClass ClassOf(const Context& context, const Match& match) {
  const GroupOf& group = context.groups.at(match.group);
  size_t nodes = group.nodes;
  if (match.members.size() != group.ranks.size()) {
    std::set<std::string_view> own;
    for (const Match::Member& member : match.members) own.insert(context.job.ranks[member.rank].node);
    nodes = own.size();
  }
  return {match.type, match.bytes == 0 ? -1 : static_cast<int>(std::bit_width(match.bytes)),
          match.members.size(), nodes, group.role};
}

Transfers TransfersByClass(const Context& context) {
  Transfers classes;
  for (uint32_t i = 0; i < context.matches.all.size(); ++i) {
    const Match& match = context.matches.all[i];
    if (match.step < context.first || match.is_pair || context.matches.absent.contains(match.group)) continue;
    classes[ClassOf(context, match)][match.group].push_back(i);
  }
  return classes;
}

std::vector<Ns> LengthsOf(const Context& context, const std::vector<uint32_t>& matches) {
  std::vector<Ns> lengths;
  lengths.reserve(matches.size());
  for (const uint32_t match : matches) lengths.push_back(context.replay.Transfer(match));
  return lengths;
}

Ns ComputedIn(const Rank& rank, Ns from, Ns to) {
  return Covered(rank, from, to,
                 [](const Task& task) { return task.work == Work::kCompute || task.work == Work::kAiCpu; });
}

Way WayOf(const Context& context, uint32_t match) {
  const Ns last = context.replay.LastArrival(match);
  return {last, last + context.replay.Transfer(match)};
}

std::string GroupName(const Context& context, TextId group) {
  const auto known = context.groups.find(group);
  if (known == context.groups.end()) return "group of no rank";
  const GroupOf& of = known->second;
  return (of.role.empty() ? "group" : of.role + " group") + " of ranks " + RankList(context.job, of.ranks);
}

std::string GroupName(const Context& context, const std::set<TextId>& groups) {
  return groups.size() == 1 ? GroupName(context, *groups.begin()) : std::to_string(groups.size()) + " groups";
}

Where WhereOfGroups(const Context& context, const std::set<TextId>& groups) {
  constexpr size_t kMost = 50;
  std::set<uint32_t> ranks;
  for (const TextId group : groups) {
    const std::vector<uint32_t>& of = context.groups.at(group).ranks;
    ranks.insert(of.begin(), of.end());
  }
  Where where = WhereOf(context.job, {ranks.begin(), ranks.end()});
  for (const TextId group : groups) {
    if (where.groups.size() < kMost) where.groups.emplace_back(context.job.Text(group));
  }
  return where;
}

Where WhereOfGroup(const Context& context, TextId group) {
  const auto known = context.groups.find(group);
  Where where = known == context.groups.end() ? Where{} : WhereOf(context.job, known->second.ranks);
  where.groups = {std::string(context.job.Text(group))};
  return where;
}

std::function<void(const Replay&, Lengths&)> Without(LessOfMatches less) {
  return [less = std::move(less)](const Replay& replay, Lengths& lengths) {
    std::vector<Ns>& all = replay.TouchMatches(lengths);
    for (const auto& [match, ns] : less) all[match] = std::max(all[match], ns);
  };
}

std::vector<uint32_t> StepsOf(const Context& context, const LessOfMatches& less) {
  std::set<uint32_t> steps;
  for (const auto& [match, ns] : less) steps.insert(context.matches.all[match].step);
  return {steps.begin(), steps.end()};
}

}  // namespace profd::analyze
