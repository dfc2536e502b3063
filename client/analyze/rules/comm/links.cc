// Links between two ranks that are slower than others of their kind.
#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include "client/analyze/model/pairs.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/comm/transfers.h"

namespace profd::analyze {
namespace {

constexpr size_t kFewPairs = 4;
constexpr size_t kMostRows = 50;
constexpr Ns kEnoughNs =
    1'000'000'000;            // that a pair's data took, where there are fewer than comm.min_ops of them
constexpr double kClear = 5;  // spreads of the others

// Pairs whose data should go at one rate: one transport, groups of one role, about one size.
struct PairClass {
  TextId transport = 0;
  std::string_view role;
  int bits = 0;  // of the mean size
  auto operator<=>(const PairClass&) const = default;
};
struct SlowPair {
  Link link;
  int64_t count = 0;
  bool of_messages = false;
  double pace = 0, usual = 0;  // ns per byte
  double clear = 0;            // how far from the others, in their spreads
  double ratio() const { return pace / usual; }
};

// By pairs that should go at one rate, those that do not.
std::vector<SlowPair> SlowOf(const Context& context, std::map<PairClass, std::vector<SlowPair>>& classes) {
  const double most = 1 / context.Get("comm.link_ratio");
  std::vector<SlowPair> slow;
  for (auto& [of, pairs] : classes) {
    if (pairs.size() < kFewPairs) continue;
    std::vector<double> paces, good;
    for (const SlowPair& pair : pairs) paces.push_back(pair.pace);
    const double usual = Usual(paces, most - 1);
    for (const double pace : paces) {
      if (pace < most * usual) good.push_back(pace);
    }
    // Where half of them and more differ, nobody can say which of them are as they should be.
    if (usual <= 0 || 2 * good.size() <= paces.size()) continue;
    const double spread = std::max(Spread(good), 1e-3 * usual);
    for (SlowPair& pair : pairs) {
      pair.usual = usual;
      pair.clear = (pair.pace - usual) / spread;
      if (pair.ratio() >= most && pair.clear >= kClear) slow.push_back(pair);
    }
  }
  return slow;
}

// From the sender to the receiver, by their numbers.
Link WayOfMessage(const Context& context, const Match& match) {
  const Job& job = context.job;
  const Match::Member &one = match.members[0], &other = match.members[1];
  const bool sends = IsSend(job.Text(job.ranks[one.rank].collectives[one.collective].type));
  const int64_t a = job.ranks[one.rank].number, b = job.ranks[other.rank].number;
  return {match.group, 0, sends ? a : b, sends ? b : a};
}

// Of messages: what they take once both ranks are there, between ranks of one node and of two.
std::vector<SlowPair> SlowMessages(const Context& context) {
  const auto min_ops = static_cast<size_t>(context.Get("comm.min_ops"));
  struct OfLink {
    std::vector<double> paces;
    bool is_of_node = false;
    double bytes = 0;
  };
  std::map<Link, OfLink> links;
  for (uint32_t i = 0; i < context.matches.all.size(); ++i) {
    const Match& match = context.matches.all[i];
    if (!match.is_pair || match.step < context.first || match.bytes == 0) continue;
    OfLink& of = links[WayOfMessage(context, match)];
    const auto bytes = static_cast<double>(match.bytes);
    of.paces.push_back(static_cast<double>(context.replay.Transfer(i)) / bytes);
    of.bytes += bytes;
    of.is_of_node =
        context.job.ranks[match.members[0].rank].node == context.job.ranks[match.members[1].rank].node;
  }
  std::map<PairClass, std::vector<SlowPair>> classes;
  for (auto& [link, of] : links) {
    if (of.paces.size() < min_ops) continue;
    const auto size = static_cast<uint64_t>(of.bytes / static_cast<double>(of.paces.size()));
    classes[{0, of.is_of_node ? "node" : "nodes", static_cast<int>(std::bit_width(size))}].push_back(
        {link, static_cast<int64_t>(of.paces.size()), true, Median(std::move(of.paces))});
  }
  return SlowOf(context, classes);
}

std::vector<SlowPair> SlowPairs(const Context& context) {
  const auto min_ops = static_cast<int64_t>(context.Get("comm.min_ops"));
  std::map<PairClass, std::vector<SlowPair>> classes;
  for (const auto& [link, carried] : PairsOf(context.job)) {
    const auto group = context.groups.find(link.group);
    if (group == context.groups.end() || link.from == link.to || carried.bytes == 0 || carried.count <= 0)
      continue;
    if (carried.count < min_ops && carried.ns < kEnoughNs) continue;
    const uint64_t size = carried.bytes / static_cast<uint64_t>(carried.count);
    classes[{link.transport, group->second.role, static_cast<int>(std::bit_width(size))}].push_back(
        {link, carried.count, false, static_cast<double>(carried.ns) / static_cast<double>(carried.bytes)});
  }
  return SlowOf(context, classes);
}

// One cause: both ways between two ranks, or the links of one rank to several others.
struct Cause {
  std::set<int64_t> ranks;  // one: all links of it that are slow
  std::vector<SlowPair> pairs;
};
std::vector<Cause> CausesOf(const std::vector<SlowPair>& slow) {
  std::map<int64_t, std::set<int64_t>> partners;
  for (const SlowPair& pair : slow) {
    partners[pair.link.from].insert(pair.link.to);
    partners[pair.link.to].insert(pair.link.from);
  }
  std::map<std::set<int64_t>, Cause> causes;
  for (const SlowPair& pair : slow) {
    const size_t from = partners[pair.link.from].size(), to = partners[pair.link.to].size();
    const std::set<int64_t> ranks = from == to  ? std::set{pair.link.from, pair.link.to}
                                    : from > to ? std::set{pair.link.from}
                                                : std::set{pair.link.to};
    Cause& cause = causes[ranks];
    cause.ranks = ranks;
    cause.pairs.push_back(pair);
  }
  std::vector<Cause> all;
  all.reserve(causes.size());
  for (auto& [ranks, cause] : causes) all.push_back(std::move(cause));
  return all;
}

}  // namespace

std::map<TextId, double> SlowLinkGroups(const Context& context) {
  std::map<TextId, double> groups;
  for (const SlowPair& pair : SlowPairs(context)) {
    double& worst = groups[pair.link.group];
    worst = std::max(worst, pair.ratio());
  }
  return groups;
}

void FindSlowLinks(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<SlowPair> slow = SlowPairs(context), messages = SlowMessages(context);
  slow.insert(slow.end(), messages.begin(), messages.end());
  for (const Cause& cause : CausesOf(slow)) {
    std::map<TextId, double> groups;  // its worst link
    double ratio = 1, clear = INFINITY;
    Table table{
        "links", {"from", "to", "transport", "group", "count", "gb_per_s", "usual_gb_per_s", "ratio"}, {}};
    for (const SlowPair& pair : cause.pairs) {
      double& worst = groups[pair.link.group];
      worst = std::max(worst, pair.ratio());
      ratio = std::max(ratio, pair.ratio());
      clear = std::min(clear, pair.clear);
      if (table.rows.size() < kMostRows)
        table.rows.push_back({pair.link.from, pair.link.to, std::string(job.Text(pair.link.transport)),
                              GroupName(context, pair.link.group), pair.count, 1 / pair.pace, 1 / pair.usual,
                              pair.ratio()});
    }
    // Data of a collective have come when the last of them have.
    LessOfMatches less;
    for (const auto& [key, of_class] : TransfersByClass(context)) {
      for (const auto& [group, worst] : groups) {
        const auto matches = of_class.find(group);
        if (matches == of_class.end()) continue;
        for (const uint32_t match : matches->second)
          less.emplace_back(
              match, std::llround(static_cast<double>(context.replay.Transfer(match)) * (1 - 1 / worst)));
      }
    }
    std::map<Link, double> ways;
    for (const SlowPair& pair : cause.pairs) {
      if (pair.of_messages) ways[pair.link] = pair.ratio();
    }
    for (uint32_t i = 0; i < context.matches.all.size() && !ways.empty(); ++i) {
      const Match& match = context.matches.all[i];
      if (!match.is_pair || match.step < context.first) continue;
      if (const auto way = ways.find(WayOfMessage(context, match)); way != ways.end())
        less.emplace_back(
            i, std::llround(static_cast<double>(context.replay.Transfer(i)) * (1 - 1 / way->second)));
    }
    if (less.empty()) continue;
    std::vector<uint32_t> ranks;
    for (uint32_t r = 0; r < job.ranks.size(); ++r) {
      if (cause.ranks.contains(job.ranks[r].number)) ranks.push_back(r);
    }
    const std::string transport(job.Text(cause.pairs.front().link.transport));
    const std::string kind = transport.empty() ? "link" : transport + " link";
    std::string names;
    for (const int64_t rank : cause.ranks)
      names.append(names.empty() ? "" : " and ").append(std::to_string(rank));
    Finding finding;
    finding.id = "comm.slow-link";
    finding.key = "comm.slow-link/" + names;
    finding.title = "the " + kind;
    finding.title.append(cause.ranks.size() == 1 ? "s of rank " : " between ranks ").append(names);
    finding.title.append(": data take ").append(Times(ratio)).append(" as long as on links like it");
    finding.where = WhereOf(job, ranks);
    for (const auto& [group, worst] : groups) finding.where.groups.emplace_back(job.Text(group));
    finding.steps = StepsOf(context, less);
    finding.evidence.push_back(std::move(table));
    finding.advice = {"look at the port, the cable and the switch between them: lanes, retries, errors"};
    finding.factors = {Occurrences(finding.steps.size()),
                       {"effect", std::min(1.0, clear / (2 * kClear)), Times(ratio) + " as long"}};
    finding.without = Without(std::move(less));
    found.findings.push_back(std::move(finding));
  }
}

}  // namespace profd::analyze
