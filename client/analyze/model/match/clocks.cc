#include "client/analyze/model/match/clocks.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <utility>

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

}  // namespace

Clocks AlignClocks(Job& job, const Matches& matches) {
  // Ranks whose node is known share its clock.
  std::map<std::string, size_t> numbers;
  std::vector<size_t> clock_of(job.ranks.size());
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    const std::string name = rank.node.empty() ? "\n" + std::to_string(r) : rank.node;
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
  std::vector<double> offset(numbers.size());
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
  return clocks;
}

}  // namespace profd::analyze
