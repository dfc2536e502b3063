// Collectives by what they are, and the groups that make them.
#include <algorithm>
#include <map>
#include <set>

#include "base/join.h"
#include "client/analyze/tables/spread.h"
#include "client/analyze/tables/tables.h"

namespace profd::analyze {
namespace {

constexpr int64_t kAllRanks = -1;
constexpr size_t kMostTop = 100;

}  // namespace

Table CollectivesTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  std::map<std::pair<int64_t, std::string_view>, std::vector<Ns>> lengths;
  for (const Rank& rank : job.ranks) {
    for (const Collective& collective : rank.collectives) {
      for (const int64_t number : {kAllRanks, rank.number})
        lengths[{number, job.Text(collective.type)}].push_back(collective.end - collective.begin);
    }
  }
  Table table{"collectives", WithSpread({"rank", "type"}), {}};
  for (auto& [key, values] : lengths) {
    std::vector<Cell> row{key.first == kAllRanks ? Cell(std::string("all")) : Cell(key.first),
                          std::string(key.second)};
    AddSpread(row, values);
    table.rows.push_back(std::move(row));
  }
  return table;
}

Table CollectiveTopTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  struct One {
    std::vector<Ns> lengths;
    std::pair<Ns, int64_t> least{INT64_MAX, 0}, most{-1, 0};  // and whose
  };
  // Two groups may have the same names.
  std::map<std::pair<TextId, TextId>, One> all;
  for (const Rank& rank : job.ranks) {
    for (const Collective& collective : rank.collectives) {
      One& one = all[{collective.name, collective.group}];
      const Ns length = collective.end - collective.begin;
      one.lengths.push_back(length);
      if (length < one.least.first) one.least = {length, rank.number};
      if (length > one.most.first) one.most = {length, rank.number};
    }
  }
  std::vector<std::pair<double, std::vector<Cell>>> rows;
  for (auto& [key, one] : all) {
    std::vector<Cell> row{std::string(job.Text(key.first)), std::string(job.Text(key.second))};
    AddSpread(row, one.lengths);
    row.emplace_back(one.least.second);
    row.emplace_back(one.most.second);
    rows.emplace_back(-std::get<double>(row[3]), std::move(row));
  }
  std::ranges::sort(rows);
  rows.resize(std::min(rows.size(), kMostTop));
  Table table{"collective-top", WithSpread({"name", "group"}), {}};
  table.columns.insert(table.columns.end(), {"min_rank", "max_rank"});
  for (auto& [mean, row] : rows) table.rows.push_back(std::move(row));
  return table;
}

Table GroupsTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  struct Group {
    std::string role;
    std::set<int64_t> ranks;
    int64_t collectives = 0, pairs = 0;
    uint64_t bytes = 0;
  };
  std::map<TextId, Group> groups;
  for (const Rank& rank : job.ranks) {
    for (const Collective& collective : rank.collectives) {
      Group& group = groups[collective.group];
      group.ranks.insert(rank.number);
      const std::string_view type = job.Text(collective.type);
      ++(type.starts_with("send") || type.starts_with("receive") ? group.pairs : group.collectives);
      group.bytes += collective.bytes;
      if (const auto known = rank.groups.find(std::string(job.Text(collective.group)));
          known != rank.groups.end())
        group.role = known->second.role;
    }
  }
  Table table{
      "groups", {"group", "role", "ranks", "absent", "collectives", "sends_and_receives", "bytes"}, {}};
  for (const auto& [id, group] : groups) {
    const auto absent = analysis.matches().absent.find(id);
    table.rows.push_back(
        {std::string(job.Text(id)), group.role, base::Joined(group.ranks, " "),
         static_cast<int64_t>(absent == analysis.matches().absent.end() ? 0 : absent->second),
         group.collectives, group.pairs, static_cast<int64_t>(group.bytes)});
  }
  return table;
}

Table PairsTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  Table table{
      "p2p", {"step", "from", "to", "bytes", "send_us", "receive_us", "waiting_us", "transfer_us"}, {}};
  for (size_t i = 0; i < analysis.matches().all.size(); ++i) {
    const Match& match = analysis.matches().all[i];
    if (!match.is_pair || match.members.size() != 2) continue;
    const auto of = [&](const Match::Member& member) -> const Collective& {
      return job.ranks[member.rank].collectives[member.collective];
    };
    const bool first_sends = job.Text(of(match.members[0]).type).starts_with("send");
    const Match::Member &sender = match.members[first_sends ? 0 : 1],
                        &receiver = match.members[first_sends ? 1 : 0];
    const Collective &send = of(sender), &receive = of(receiver);
    const Ns transfer = analysis.context().replay.Transfer(i);
    const auto us = [](Ns ns) { return static_cast<double>(ns) / 1e3; };
    table.rows.push_back({job.steps.empty() ? int64_t{0} : job.steps[match.step],
                          job.ranks[sender.rank].number, job.ranks[receiver.rank].number,
                          static_cast<int64_t>(match.bytes), us(send.end - send.begin),
                          us(receive.end - receive.begin),
                          us(std::max<Ns>(0, receive.end - receive.begin - transfer)), us(transfer)});
  }
  return table;
}

}  // namespace profd::analyze
