#include "client/analyze/model/match/clocks.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/join.h"
#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

constexpr int kMostRounds = 40;
constexpr Ns kGoodEnough = 200;

}  // namespace

Ns Clocks::Line::Moved(Ns time) const {
  return time - static_cast<Ns>(std::llround(offset + slope * static_cast<double>(time - pivot)));
}

namespace {

// Which matches tell how far clocks are apart: symmetric ones. Of nodes that only messages connect, as the
// stages of a pipeline, messages that go both ways: a send may be over before its receive, and that cancels
// out.
std::vector<bool> TellsClocks(const Job& job, const Matches& matches, const std::vector<size_t>& clock_of) {
  std::vector<size_t> part(job.ranks.size());  // of clocks that symmetric matches connect, the least
  std::iota(part.begin(), part.end(), 0);
  const auto part_of = [&part](size_t clock) {
    while (part[clock] != clock) clock = part[clock] = part[part[clock]];
    return clock;
  };
  for (const Match& match : matches.all) {
    if (!match.is_symmetric) continue;
    for (const Match::Member& member : match.members) {
      const size_t one = part_of(clock_of[match.members.front().rank]);
      const size_t other = part_of(clock_of[member.rank]);
      part[std::max(one, other)] = std::min(one, other);
    }
  }
  // From the sender's clock to the receiver's.
  const auto way_of = [&](const Match& match) {
    const Match::Member &one = match.members[0], &other = match.members[1];
    const bool sends = IsSend(job.Text(job.ranks[one.rank].collectives[one.collective].type));
    return sends ? std::pair(clock_of[one.rank], clock_of[other.rank])
                 : std::pair(clock_of[other.rank], clock_of[one.rank]);
  };
  std::set<std::pair<size_t, size_t>> ways;
  for (const Match& match : matches.all) {
    if (match.is_pair) ways.insert(way_of(match));
  }
  std::vector<bool> tells(matches.all.size());
  for (size_t i = 0; i < tells.size(); ++i) {
    const Match& match = matches.all[i];
    if (match.is_pair) {
      const auto [from, to] = way_of(match);
      tells[i] = part_of(from) != part_of(to) && ways.contains({to, from});
    } else {
      tells[i] = match.is_symmetric;
    }
  }
  return tells;
}

// Nodes whose ranks cannot have one clock: of a group many collectives are over on one of its ranks before
// they begin on another one of the node.
std::set<std::string> TornNodes(const Job& job, const Matches& matches) {
  constexpr Ns kSlack = 50'000;
  constexpr size_t kFew = 4;
  struct Ends {
    Ns first_end = INT64_MAX, last_begin = INT64_MIN;
    size_t count = 0;
  };
  struct Seen {
    size_t all = 0, impossible = 0;
  };
  std::map<std::string, uint32_t> numbers;
  std::vector<uint32_t> node_of;
  for (const Rank& rank : job.ranks) {
    const bool is_known = !rank.node.empty() && !rank.gaps.hide_waits();
    const auto next = static_cast<uint32_t>(numbers.size());
    node_of.push_back(is_known ? numbers.try_emplace(rank.node, next).first->second : kNone);
  }
  std::vector<Ends> nodes(numbers.size());
  std::map<std::pair<TextId, uint32_t>, Seen> groups;  // and nodes
  for (const Match& match : matches.all) {
    if (!match.is_symmetric && !match.is_pair) continue;
    for (const Match::Member& member : match.members) {
      if (node_of[member.rank] == kNone) continue;
      const Collective& own = job.ranks[member.rank].collectives[member.collective];
      Ends& ends = nodes[node_of[member.rank]];
      ++ends.count;
      // A send may be over before its receive begins.
      const bool is_send = match.is_pair && IsSend(job.Text(own.type));
      if (!is_send) ends.first_end = std::min(ends.first_end, own.end);
      if (is_send || !match.is_pair) ends.last_begin = std::max(ends.last_begin, own.begin);
    }
    for (const Match::Member& member : match.members) {
      if (node_of[member.rank] == kNone) continue;
      const Ends ends = std::exchange(nodes[node_of[member.rank]], {});
      if (ends.count < 2) continue;
      Seen& seen = groups[{match.group, node_of[member.rank]}];
      ++seen.all;
      seen.impossible += ends.first_end < ends.last_begin - kSlack ? 1 : 0;
    }
  }
  std::set<std::string> torn;
  for (const auto& [name, number] : numbers) {
    const bool is_torn = std::ranges::any_of(groups, [number = number](const auto& entry) {
      const Seen& seen = entry.second;  // messages show it in one direction alone
      return entry.first.second == number && seen.impossible >= kFew && 4 * seen.impossible >= seen.all;
    });
    if (is_torn) torn.insert(name);
  }
  return torn;
}

// Nodes on which a rank ends its collectives by the same time earlier or later than the others, however much
// data they carry: what data take longer on one rank grows with their size.
void AddShiftedNodes(const Job& job, const Matches& matches, std::set<std::string>& torn) {
  constexpr double kLeast = 100'000, kSlack = 20'000, kPart = 0.1, kLonger = 1.5;
  constexpr size_t kFewOfClass = 4, kFewClasses = 2;
  struct OfClass {
    std::vector<double> ahead, lengths;
  };
  // By rank, and by group, type and about the size.
  std::vector<std::map<std::tuple<TextId, TextId, int>, OfClass>> of_rank(job.ranks.size());
  std::map<std::string_view, std::vector<Match::Member>> nodes;
  for (const Match& match : matches.all) {
    if (!match.is_symmetric || match.is_pair) continue;
    nodes.clear();
    double length = 1e18;
    for (const Match::Member& member : match.members) {
      const Rank& rank = job.ranks[member.rank];
      const Collective& own = rank.collectives[member.collective];
      length = std::min(length, static_cast<double>(own.end - own.begin));
      if (!rank.node.empty() && !rank.gaps.hide_waits()) nodes[rank.node].push_back(member);
    }
    for (const auto& [name, members] : nodes) {
      if (members.size() < 2) continue;
      const auto end_of = [&job](const Match::Member& member) {
        return static_cast<double>(job.ranks[member.rank].collectives[member.collective].end);
      };
      std::vector<double> ends;
      const double base = end_of(members.front());
      for (const Match::Member& member : members) ends.push_back(end_of(member) - base);
      // Of the others; of many of them one does not matter.
      constexpr size_t kFew = 4;
      const double middle = members.size() > kFew ? Median(ends) : 0;
      for (size_t i = 0; i < members.size(); ++i) {
        std::vector<double> others;
        if (members.size() <= kFew) {
          others = ends;
          others.erase(others.begin() + static_cast<ptrdiff_t>(i));
        }
        OfClass& of = of_rank[members[i].rank]
                             [{match.group, match.type, static_cast<int>(std::bit_width(match.bytes))}];
        of.ahead.push_back(ends[i] - (others.empty() ? middle : Median(std::move(others))));
        of.lengths.push_back(length);
      }
    }
  }
  for (size_t r = 0; r < of_rank.size(); ++r) {
    std::vector<double> medians;
    double shortest = 1e18, longest = 0, widest = 0;
    for (const auto& [key, of] : of_rank[r]) {
      if (of.ahead.size() < kFewOfClass) continue;
      medians.push_back(Median(of.ahead));
      widest = std::max(widest, Spread(of.ahead));
      const double length = Median(of.lengths);
      shortest = std::min(shortest, length);
      longest = std::max(longest, length);
    }
    if (medians.size() < kFewClasses || longest < kLonger * shortest) continue;
    const double ahead = Median(medians), near = kSlack + kPart * std::abs(ahead);
    if (std::abs(ahead) < kLeast || widest > near) continue;
    if (std::ranges::all_of(medians, [&](double one) { return std::abs(one - ahead) <= near; }))
      torn.insert(job.ranks[r].node);
  }
}

// How far clocks are ahead, by medians of pairs, those with most in common first. To move one clock after the
// other alone may end where two groups of them agree within themselves, and not with each other.
std::vector<double> FirstOffsets(size_t count,
                                 const std::map<std::pair<size_t, size_t>, std::vector<double>>& pairs) {
  struct Edge {
    size_t one = 0, other = 0, common = 0;
    double ahead = 0;  // of the other one
  };
  std::vector<Edge> edges;
  edges.reserve(pairs.size());
  for (const auto& [clocks, ahead] : pairs)
    edges.push_back({clocks.first, clocks.second, ahead.size(), Median(ahead)});
  std::ranges::stable_sort(edges, std::greater<>(), &Edge::common);
  std::vector<double> offsets(count);
  std::vector<std::vector<size_t>> parts(count);
  std::vector<size_t> part_of(count);
  for (size_t clock = 0; clock < count; ++clock) parts[part_of[clock] = clock] = {clock};
  for (const Edge& edge : edges) {
    const size_t one = part_of[edge.one], other = part_of[edge.other];
    if (one == other) continue;
    const double more = offsets[edge.one] + edge.ahead - offsets[edge.other];
    for (const size_t clock : parts[other]) {
      offsets[clock] += more;
      part_of[clock] = one;
      parts[one].push_back(clock);
    }
    parts[other].clear();
  }
  return offsets;
}

// Whose clock was far from those of most ranks of its node.
void TellTorn(Job& job, const std::string& node, const Clocks& clocks) {
  constexpr double kFar = 80'000;
  constexpr size_t kMostNamed = 4;
  std::vector<double> offsets;
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    if (job.ranks[r].node == node) offsets.push_back(clocks.lines[r].offset);
  }
  const double usual = Median(std::move(offsets));
  std::string who;
  size_t count = 0;
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const double far = clocks.lines[r].offset - usual;
    if (job.ranks[r].node != node || std::abs(far) < kFar) continue;
    char text[64];
    std::snprintf(text, sizeof text, "rank %lld by %+.1f ms", static_cast<long long>(job.ranks[r].number),
                  far / 1e6);
    if (++count <= kMostNamed) base::AddTo(who, text);
  }
  if (count > kMostNamed) who += ", …";
  job.notes.push_back({node,
                       "the clocks of its ranks differ" + (who.empty() ? "" : " (" + who + ")") +
                           ": each rank's is brought to the others by its collectives, to within " +
                           std::to_string((clocks.bound + 999) / 1000) + " us",
                       false});
}

}  // namespace

Clocks AlignClocks(Job& job, const Matches& matches) {
  // Ranks whose node is known share its clock.
  std::set<std::string> torn = TornNodes(job, matches);
  AddShiftedNodes(job, matches, torn);
  std::map<std::string, size_t> numbers;
  std::vector<size_t> clock_of(job.ranks.size());
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    const bool is_alone = rank.node.empty() || torn.contains(rank.node);
    const std::string name = is_alone ? "\n" + std::to_string(r) : rank.node;
    clock_of[r] = numbers.try_emplace(name, numbers.size()).first->second;
  }
  Clocks clocks;
  if (numbers.size() < 2) return clocks;
  struct Reading {
    Ns at;
    double ahead;  // of the middle of all
  };
  const auto end_of = [&job](const Match::Member& member) {
    return job.ranks[member.rank].collectives[member.collective].end;
  };
  const std::vector<bool> tells = TellsClocks(job, matches, clock_of);
  // Of two clocks: how far the second one is ahead.
  std::map<std::pair<size_t, size_t>, std::vector<double>> pairs;
  for (size_t number = 0; number < matches.all.size(); ++number) {
    if (!tells[number]) continue;
    const std::vector<Match::Member>& members = matches.all[number].members;
    const size_t first = clock_of[members.front().rank];
    for (const Match::Member& member : members) {
      const size_t clock = clock_of[member.rank];
      const auto ahead = static_cast<double>(end_of(member) - end_of(members.front()));
      if (clock != first) pairs[std::minmax(first, clock)].push_back(first < clock ? ahead : -ahead);
    }
  }
  std::vector<double> offset = FirstOffsets(numbers.size(), pairs);
  std::vector<std::vector<Reading>> readings;
  const auto read = [&] {
    readings.assign(numbers.size(), {});
    std::map<size_t, std::vector<double>> by_clock;
    for (size_t number = 0; number < matches.all.size(); ++number) {
      if (!tells[number]) continue;
      const Match& match = matches.all[number];
      by_clock.clear();
      const Ns base = end_of(match.members.front());
      for (const Match::Member& member : match.members) {
        const size_t clock = clock_of[member.rank];
        by_clock[clock].push_back(static_cast<double>(end_of(member) - base) - offset[clock]);
      }
      if (by_clock.size() < 2) continue;
      std::vector<double> ends;
      ends.reserve(by_clock.size());
      for (auto& [clock, values] : by_clock) ends.push_back(Median(values));
      const double middle = Median(ends);
      size_t i = 0;
      for (const auto& [clock, values] : by_clock) readings[clock].push_back({base, ends[i++] - middle});
    }
  };
  for (int round = 0; round < kMostRounds; ++round) {
    read();
    double largest = 0;
    for (size_t clock = 0; clock < offset.size(); ++clock) {
      std::vector<double> ahead;
      for (const Reading& reading : readings[clock]) ahead.push_back(reading.ahead);
      const double step = Median(std::move(ahead));
      offset[clock] += step;
      largest = std::max(largest, std::abs(step));
    }
    if (largest < static_cast<double>(kGoodEnough)) break;
  }
  read();
  // Drift: a robust line through bins of time, where there are enough.
  constexpr size_t kBins = 10, kBinMin = 20;
  std::vector<double> slope(offset.size());
  std::vector<Ns> pivot(offset.size());
  std::vector<double> residuals;
  for (size_t clock = 0; clock < offset.size(); ++clock) {
    std::vector<Reading>& of = readings[clock];
    std::ranges::sort(of, {}, &Reading::at);
    const size_t bins = std::min<size_t>(of.size() / kBinMin, 64);
    if (bins >= kBins) {
      std::vector<std::pair<double, double>> points;
      for (size_t bin = 0; bin < bins; ++bin) {
        std::vector<double> at, ahead;
        for (size_t i = bin * of.size() / bins; i < (bin + 1) * of.size() / bins; ++i) {
          at.push_back(static_cast<double>(of[i].at - of.front().at));
          ahead.push_back(of[i].ahead);
        }
        points.emplace_back(Median(at), Median(ahead));
      }
      std::vector<double> slopes;
      for (size_t i = 0; i < points.size(); ++i) {
        for (size_t j = i + 1; j < points.size(); ++j) {
          if (points[j].first > points[i].first)
            slopes.push_back((points[j].second - points[i].second) / (points[j].first - points[i].first));
        }
      }
      slope[clock] = Median(slopes);
      pivot[clock] = of.front().at;
      std::vector<double> rest;
      rest.reserve(points.size());
      for (const auto& [at, ahead] : points) rest.push_back(ahead - slope[clock] * at);
      offset[clock] += Median(rest);
      for (const Reading& reading : of)
        residuals.push_back(reading.ahead - Median(rest) -
                            slope[clock] * static_cast<double>(reading.at - pivot[clock]));
    } else {
      for (const Reading& reading : of) residuals.push_back(reading.ahead);
    }
  }
  constexpr Ns kHabit = 20'000;  // of ends that one rank always has later: not to be told from its clock
  clocks.from_data = !residuals.empty();
  clocks.bound = static_cast<Ns>(3 * Spread(residuals)) + (numbers.size() == job.ranks.size() ? kHabit : 0);
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const size_t clock = clock_of[r];
    Rank& rank = job.ranks[r];
    clocks.lines.push_back({offset[clock], slope[clock], pivot[clock]});
    const auto move = [&line = clocks.lines.back()](Ns& time) { time = line.Moved(time); };
    const auto move_all = [&move](auto& rows) {
      for (auto& row : rows) move(row.begin), move(row.end);
    };
    move_all(rank.tasks);
    move_all(rank.others);
    move_all(rank.collectives);
    move_all(rank.calls);
    move_all(rank.ranges);
    move_all(rank.steps);
    move_all(rank.waits);
    move_all(rank.running);
    for (CgroupLook& look : rank.cgroups) move(look.from), move(look.to);
    for (Frequency& frequency : rank.frequencies) move(frequency.at);
    for (MemoryLook& look : rank.memory) move(look.at);
    for (Allocator& of : rank.allocators) move(of.at);
    for (Lost& lost : rank.lost) move(lost.from), move(lost.to);
  }
  for (const std::string& node : torn) TellTorn(job, node, clocks);
  return clocks;
}

}  // namespace profd::analyze
