// What rules about data between ranks share: which transfers should take the same, how long they take, and a
// job in which some take less.
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {

// Transfers that should take the same: of one type, about one size, as many ranks, over as many nodes, and of
// groups of one role.
struct TransferClass {
  TextId type = 0;
  int bits = -1;  // of the size, -1 = not known
  size_t ranks = 0, nodes = 0;
  std::string_view role;
  auto operator<=>(const TransferClass&) const = default;
};
TransferClass ClassOf(const Context& context, const Match& match);

// By class and group those that are analysed: matches that nobody is missing of, indexes in Matches::all.
// What ranks send to each other by twos is not among them.
using Transfers = std::map<TransferClass, std::map<TextId, std::vector<uint32_t>>>;
Transfers TransfersByClass(const Context& context);
// How long their data take, in the order of `matches`.
std::vector<Ns> LengthsOf(const Context& context, const std::vector<uint32_t>& matches);

// How much of a span tasks of one kind cover, on one rank: the union of those that `counts`.
template <typename Counts>
Ns Covered(const Rank& rank, Ns from, Ns to, Counts counts) {
  Ns covered = 0, reached = from;
  // Tasks are sorted by begin; those that began long before are few and long, so look back a little.
  constexpr ptrdiff_t kLookBack = 64;
  const auto first = std::ranges::lower_bound(rank.tasks, from, {}, &Task::begin);
  for (auto at = first - std::min(first - rank.tasks.begin(), kLookBack);
       at != rank.tasks.end() && at->begin < to; ++at) {
    if (at->end <= reached || !counts(*at)) continue;
    covered += std::min(at->end, to) - std::max(at->begin, reached);
    reached = std::min(at->end, to);
  }
  return covered;
}
// The same of kernels.
Ns ComputedIn(const Rank& rank, Ns from, Ns to);

// When the data of a match were on their way.
struct Way {
  Ns from = 0, to = 0;
  Ns length() const { return to - from; }
};
Way WayOf(const Context& context, uint32_t match);

// Groups with a slow link (rule comm.slow-link), and how many times as long as usual data take on it.
std::map<TextId, double> SlowLinkGroups(const Context& context);

// "tp group of ranks 0-7".
std::string GroupName(const Context& context, TextId group);
Where WhereOfGroup(const Context& context, TextId group);
// The same of several: "tp group of ranks 0-7", "3 groups".
std::string GroupName(const Context& context, const std::set<TextId>& groups);
Where WhereOfGroups(const Context& context, const std::set<TextId>& groups);

// Of some transfers, what each would take less.
using LessOfMatches = std::vector<std::pair<uint32_t, Ns>>;
std::function<void(const Replay&, Lengths&)> Without(LessOfMatches less);
// The steps that they are of.
std::vector<uint32_t> StepsOf(const Context& context, const LessOfMatches& less);

}  // namespace profd::analyze
