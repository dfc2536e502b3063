// What rules about data between ranks share: which transfers should take the same, how long they take, and a
// job in which some take less.
#pragma once

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
