#include "client/analyze/model/match/match.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <tuple>

namespace profd::analyze {
namespace {

constexpr size_t kMostCells = 1 << 24;  // of one alignment; more than that is not worth the time

// What must agree between ranks.
struct Token {
  TextId type = 0;
  uint64_t bytes = 0;
  bool operator==(const Token&) const = default;
};
// The collectives of one rank in one group and step.
struct Row {
  uint32_t rank = 0;
  std::vector<uint32_t> collectives;
  std::vector<Token> tokens;
  std::vector<int64_t> numbers;  // as their names have them, the same on all ranks; -1 = it has none
};

bool IsSymmetric(std::string_view type) {
  return type == "allReduce" || type == "allGather" || type == "reduceScatter" || type == "barrier" ||
         type == "AllReduce" || type == "AllGather" || type == "ReduceScatter";
}

// For each of `of` its place in `in`, -1 = none: the longest common order, in a band about the diagonal.
std::vector<int> Align(const std::vector<Token>& of, const std::vector<Token>& in) {
  std::vector<int> places(of.size(), -1);
  if (of == in) {
    for (size_t i = 0; i < of.size(); ++i) places[i] = static_cast<int>(i);
    return places;
  }
  constexpr int kBand = 16;
  const auto n = static_cast<int>(of.size()), m = static_cast<int>(in.size());
  const int low = std::min(0, m - n) - kBand, width = std::max(0, m - n) + kBand - low + 1;
  if (static_cast<size_t>(n + 1) * static_cast<size_t>(width) > kMostCells) return places;
  std::vector<int> best(static_cast<size_t>(n + 1) * static_cast<size_t>(width), 0);
  const auto cell = [&](int i, int j) -> int* {
    const int at = j - i - low;
    if (at < 0 || at >= width || j < 0 || j > m) return nullptr;
    return &best[static_cast<size_t>(i) * static_cast<size_t>(width) + static_cast<size_t>(at)];
  };
  const auto value = [&](int i, int j) {
    const int* at = cell(i, j);
    return at == nullptr ? -1 : *at;
  };
  const auto same = [&](int i, int j) { return of[static_cast<size_t>(i)] == in[static_cast<size_t>(j)]; };
  for (int i = 1; i <= n; ++i) {
    for (int j = std::max(1, i + low); j <= std::min(m, i + low + width - 1); ++j) {
      int most = std::max(value(i - 1, j), value(i, j - 1));
      if (same(i - 1, j - 1)) most = std::max(most, value(i - 1, j - 1) + 1);
      *cell(i, j) = std::max(most, 0);
    }
  }
  for (int i = n, j = m; i > 0 && j > 0;) {
    if (same(i - 1, j - 1) && value(i, j) == value(i - 1, j - 1) + 1) {
      places[static_cast<size_t>(i - 1)] = j - 1;
      --i, --j;
    } else if (value(i - 1, j) >= value(i, j - 1)) {
      --i;
    } else {
      --j;
    }
  }
  return places;
}

// The same, as far as it does not matter from which end one begins: where one of many that look the same is
// missing, nobody can say which.
std::vector<int> AlignSurely(const std::vector<Token>& of, const std::vector<Token>& in) {
  std::vector<int> places = Align(of, in);
  if (of == in) return places;
  const std::vector<int> back = Align({of.rbegin(), of.rend()}, {in.rbegin(), in.rend()});
  for (size_t i = 0; i < places.size(); ++i) {
    const int other = back[places.size() - 1 - i];
    if (other < 0 || places[i] != static_cast<int>(in.size()) - 1 - other) places[i] = -1;
  }
  return places;
}

// "hcom_allReduce__749_12_1" is the twelfth of its type in its group; -1: the name says no number.
int64_t NumberInGroup(std::string_view name) {
  const size_t last = name.rfind('_');
  if (last == name.npos || last == 0) return -1;
  const size_t before = name.rfind('_', last - 1);
  if (before == name.npos || name.find("__") >= before) return -1;
  int64_t number = -1;
  const auto [end, error] = std::from_chars(name.data() + before + 1, name.data() + last, number);
  return error == std::errc() && end == name.data() + last ? number : -1;
}

// By the numbers in their names; empty: these say nothing.
std::vector<int> PlacesByNumber(const Row& of, const Row& in) {
  std::map<std::pair<TextId, int64_t>, int> at;
  for (size_t i = 0; i < in.numbers.size(); ++i) {
    if (in.numbers[i] < 0 || !at.try_emplace({in.tokens[i].type, in.numbers[i]}, static_cast<int>(i)).second)
      return {};
  }
  std::vector<int> places;
  std::vector<bool> taken(in.numbers.size());
  size_t found = 0;
  for (size_t i = 0; i < of.numbers.size(); ++i) {
    if (of.numbers[i] < 0) return {};
    const auto there = at.find({of.tokens[i].type, of.numbers[i]});
    places.push_back(there == at.end() ? -1 : there->second);
    if (there == at.end()) continue;
    if (taken[static_cast<size_t>(there->second)]) return {};
    taken[static_cast<size_t>(there->second)] = true;
    ++found;
  }
  return 2 * found >= of.numbers.size() ? places : std::vector<int>{};
}

// Nobody knows the size of a collective without a count: then the type alone counts.
Token TokenOf(const Collective& collective) { return {collective.type, collective.bytes}; }

void MatchRows(Job& job, std::vector<Row>& rows, TextId group, uint32_t step, Matches& matches) {
  // Most ranks agree: the commonest length leads.
  std::map<size_t, size_t> lengths;
  for (const Row& row : rows) ++lengths[row.tokens.size()];
  const auto common = std::ranges::max_element(
      lengths, {}, [](const auto& entry) { return std::pair(entry.second, entry.first); });
  const Row& lead =
      *std::ranges::find_if(rows, [&](const Row& row) { return row.tokens.size() == common->first; });
  const std::vector<Token>& tokens = lead.tokens;
  std::vector<Match> made(tokens.size());
  for (const Row& row : rows) {
    std::vector<int> places = PlacesByNumber(row, lead);
    if (places.empty()) places = AlignSurely(row.tokens, tokens);
    for (size_t i = 0; i < places.size(); ++i) {
      if (places[i] < 0) {
        ++matches.unmatched;
        continue;
      }
      made[static_cast<size_t>(places[i])].members.push_back({row.rank, row.collectives[i]});
    }
  }
  for (uint32_t position = 0; position < made.size(); ++position) {
    Match& match = made[position];
    if (match.members.size() < 2) {
      matches.unmatched += match.members.size();
      continue;
    }
    match.group = group;
    match.type = tokens[position].type;
    match.bytes = tokens[position].bytes;
    match.step = step;
    match.position = position;
    match.is_symmetric = IsSymmetric(job.Text(match.type));
    matches.all.push_back(std::move(match));
  }
}

// Sends and receives of a group of two: the k-th send of one is the k-th receive of the other.
void MatchPairs(Job& job, const std::vector<Row>& rows, TextId group, uint32_t step, Matches& matches) {
  const auto of = [&job](const Row& row, bool sends) {
    std::vector<uint32_t> chosen;
    for (const uint32_t index : row.collectives) {
      const std::string_view type = job.Text(job.ranks[row.rank].collectives[index].type);
      if (sends ? IsSend(type) : IsReceive(type)) chosen.push_back(index);
    }
    return chosen;
  };
  for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
    const Row &sender = rows[static_cast<size_t>(from)], &receiver = rows[static_cast<size_t>(to)];
    const std::vector<uint32_t> sends = of(sender, true), receives = of(receiver, false);
    const size_t pairs = std::min(sends.size(), receives.size());
    matches.unmatched += sends.size() + receives.size() - 2 * pairs;
    for (size_t i = 0; i < pairs; ++i) {
      Match match;
      match.group = group;
      match.type = job.ranks[sender.rank].collectives[sends[i]].type;
      match.bytes = job.ranks[sender.rank].collectives[sends[i]].bytes;
      match.step = step;
      match.position = static_cast<uint32_t>(2 * i) + static_cast<uint32_t>(from);
      match.is_pair = true;
      match.members = {{sender.rank, sends[i]}, {receiver.rank, receives[i]}};
      std::ranges::sort(match.members, {}, &Match::Member::rank);
      matches.all.push_back(std::move(match));
    }
  }
}

}  // namespace

bool IsSend(std::string_view type) { return type == "send" || type == "Send"; }
bool IsReceive(std::string_view type) { return type.starts_with("rec") || type.starts_with("Rec"); }

namespace {

using Rows = std::map<std::tuple<TextId, bool, uint32_t>, std::vector<Row>>;  // by group, pairs, step

// Recordings that begin at different moments count from there: what a rank counts more or less than the first
// of its group, in most steps, is taken away.
void ShareNumbers(Rows& rows) {
  struct First {
    int64_t number = 0;
    size_t count = 0;
  };
  using Firsts = std::map<std::pair<uint32_t, TextId>, std::map<uint32_t, First>>;  // by rank, type; step
  std::map<TextId, Firsts> firsts;
  for (const auto& [key, of] : rows) {
    const auto& [group, is_pair, step] = key;
    for (const Row& row : of) {
      for (size_t i = 0; i < row.numbers.size() && !is_pair; ++i) {
        First& first = firsts[group][{row.rank, row.tokens[i].type}].try_emplace(step).first->second;
        first.number = first.count++ == 0 ? row.numbers[i] : std::min(first.number, row.numbers[i]);
      }
    }
  }
  std::map<TextId, std::map<std::pair<uint32_t, TextId>, int64_t>> ahead;
  for (const auto& [group, of] : firsts) {
    std::map<TextId, const std::map<uint32_t, First>*> leads;  // by type
    for (const auto& [key, own] : of) {
      const std::map<uint32_t, First>*& lead = leads[key.second];
      if (lead == nullptr || own.size() > lead->size()) lead = &own;
    }
    for (const auto& [key, own] : of) {
      // A step in which both have as many tells more than all others, whose first may be lost.
      constexpr size_t kSure = 1'000'000;
      std::map<int64_t, size_t> votes;
      for (const auto& [step, first] : own) {
        if (const auto at = leads[key.second]->find(step); at != leads[key.second]->end())
          votes[first.number - at->second.number] += first.count == at->second.count ? kSure : 1;
      }
      if (votes.empty()) continue;
      ahead[group][key] =
          std::ranges::max_element(votes, {}, [](const auto& entry) { return entry.second; })->first;
    }
  }
  constexpr int64_t kBase = int64_t{1} << 40;  // none of them is negative
  for (auto& [key, of] : rows) {
    for (Row& row : of) {
      const auto& own = ahead[std::get<0>(key)];
      for (size_t i = 0; i < row.numbers.size(); ++i) {
        const auto at = own.find({row.rank, row.tokens[i].type});
        if (at != own.end() && row.numbers[i] >= 0) row.numbers[i] += kBase - at->second;
      }
    }
  }
}

}  // namespace

Matches MatchCollectives(Job& job) {
  Rows rows;
  std::map<TextId, std::set<uint32_t>> users;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    Rank& rank = job.ranks[r];
    if (rank.gaps.hide_waits()) continue;
    for (uint32_t i = 0; i < rank.collectives.size(); ++i) {
      const Collective& collective = rank.collectives[i];
      users[collective.group].insert(r);
      if (collective.step == kNone || rank.job_step[collective.step] == kNone) continue;
      const std::string_view type = job.Text(collective.type);
      const bool is_pair = IsSend(type) || IsReceive(type);
      std::vector<Row>& of = rows[{collective.group, is_pair, rank.job_step[collective.step]}];
      if (of.empty() || of.back().rank != r) of.push_back({r, {}, {}, {}});
      of.back().collectives.push_back(i);
      of.back().tokens.push_back(TokenOf(collective));
      of.back().numbers.push_back(NumberInGroup(job.Text(collective.name)));
    }
  }
  ShareNumbers(rows);
  Matches matches;
  for (auto& [key, of] : rows) {
    const auto& [group, is_pair, step] = key;
    if (of.size() < 2) continue;
    if (!is_pair) {
      MatchRows(job, of, group, step, matches);
    } else if (of.size() == 2) {
      MatchPairs(job, of, group, step, matches);
    } else {  // who of many sends to whom is not in these tables
      for (const Row& row : of) matches.unmatched += row.collectives.size();
    }
  }
  // In the order of time, as far as one rank's goes.
  std::ranges::sort(matches.all, {}, [&job](const Match& match) {
    const Match::Member& first = match.members.front();
    return std::tuple(match.step, job.ranks[first.rank].collectives[first.collective].begin, match.group,
                      match.position);
  });
  for (uint32_t i = 0; i < matches.all.size(); ++i) {
    for (const Match::Member& member : matches.all[i].members)
      job.ranks[member.rank].collectives[member.collective].match = i;
  }
  for (const auto& [group, ranks] : users) {
    size_t known = 0;
    for (const uint32_t rank : ranks) {
      const auto found = job.ranks[rank].groups.find(std::string(job.Text(group)));
      if (found != job.ranks[rank].groups.end()) known = std::max(known, found->second.ranks.size());
    }
    if (known > ranks.size()) matches.absent[group] = known - ranks.size();
  }
  return matches;
}

void CutEnds(Job& job, const Matches& matches) {
  constexpr Ns kMuch = 10, kLeast = 1'000'000;
  for (const Match& match : matches.all) {
    if (!match.is_symmetric) continue;
    Ns last = INT64_MIN, length = INT64_MAX;
    for (const Match::Member& member : match.members) {
      const Collective& own = job.ranks[member.rank].collectives[member.collective];
      last = std::max(last, own.begin);
      length = std::min(length, own.end - own.begin);
    }
    for (const Match::Member& member : match.members) {
      Rank& rank = job.ranks[member.rank];
      Collective& own = rank.collectives[member.collective];
      if (own.end - last <= std::max(kLeast, kMuch * length)) continue;
      own.end = std::max(own.begin, last + length);
      rank.tasks[own.task].end = own.end;
    }
  }
}

}  // namespace profd::analyze
