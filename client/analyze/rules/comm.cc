// Groups whose data take longer than those of others, collectives that one rank never comes to, ranks that
// nobody recorded.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <set>

#include "base/join.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kFewGroups = 2;
constexpr double kShortQuantile = 0.1;

// Transfers that should take the same: of one type, about one size, as many ranks, over as many nodes, and of
// groups of one role.
struct ClassKey {
  TextId type = 0;
  int bits = -1;
  size_t ranks = 0, nodes = 0;
  std::string_view role;
  auto operator<=>(const ClassKey&) const = default;
};

ClassKey KeyOf(const Context& context, const Match& match) {
  std::set<std::string_view> nodes;
  for (const Match::Member& member : match.members) nodes.insert(context.job.ranks[member.rank].node);
  std::string_view role;
  if (!match.members.empty()) {
    const Rank& rank = context.job.ranks[match.members.front().rank];
    if (const auto known = rank.groups.find(std::string(context.job.Text(match.group)));
        known != rank.groups.end())
      role = known->second.role;
  }
  return {match.type, match.bytes == 0 ? -1 : static_cast<int>(std::bit_width(match.bytes)),
          match.members.size(), nodes.size(), role};
}

std::string GroupName(const Context& context, TextId group) {
  const std::string name(context.job.Text(group));
  std::set<int64_t> ranks;
  std::string role;
  for (const Rank& rank : context.job.ranks) {
    if (const auto known = rank.groups.find(name);
        known != rank.groups.end() && !known->second.role.empty()) {
      const bool is_in = std::ranges::count(known->second.ranks, rank.number) > 0;
      if (is_in) role = known->second.role;
    }
    const auto uses = [group](const Collective& collective) { return collective.group == group; };
    if (std::ranges::any_of(rank.collectives, uses)) ranks.insert(rank.number);
  }
  std::string list;
  if (ranks.size() > 2 && *ranks.rbegin() - *ranks.begin() + 1 == static_cast<int64_t>(ranks.size())) {
    list = std::to_string(*ranks.begin()) + "-" + std::to_string(*ranks.rbegin());
  } else {
    list = base::Joined(ranks, ",");
    if (list.size() > 40)
      list = std::to_string(ranks.size()) + " ranks from " + std::to_string(*ranks.begin());
  }
  return (role.empty() ? "group" : role + " group") + " of ranks " + list;
}

Where WhereOfGroup(const Context& context, TextId group) {
  Where where;
  where.groups = {std::string(context.job.Text(group))};
  std::set<std::string> nodes;
  for (const Rank& rank : context.job.ranks) {
    const auto uses = [group](const Collective& collective) { return collective.group == group; };
    if (std::ranges::none_of(rank.collectives, uses)) continue;
    where.ranks.push_back(rank.number);
    if (!rank.node.empty()) nodes.insert(rank.node);
  }
  where.nodes.assign(nodes.begin(), nodes.end());
  return where;
}

std::string Times(double ratio) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f x", ratio);
  return text;
}

// Matches that are analysed, by what they are and by group.
std::map<ClassKey, std::map<TextId, std::vector<uint32_t>>> Classes(const Context& context) {
  std::map<ClassKey, std::map<TextId, std::vector<uint32_t>>> classes;
  for (uint32_t i = 0; i < context.matches.all.size(); ++i) {
    const Match& match = context.matches.all[i];
    if (match.step < context.first || match.is_pair || context.matches.absent.contains(match.group)) continue;
    classes[KeyOf(context, match)][match.group].push_back(i);
  }
  return classes;
}

std::vector<Ns> TransfersOf(const Context& context, const std::vector<uint32_t>& matches) {
  std::vector<Ns> lengths;
  lengths.reserve(matches.size());
  for (const uint32_t match : matches) lengths.push_back(context.replay.Transfer(match));
  return lengths;
}

std::vector<Cell> ClassRow(const Context& context, const ClassKey& key, size_t count, double own,
                           double usual) {
  return {std::string(context.job.Text(key.type)),
          key.bits <= 0 ? int64_t{0} : int64_t{1} << std::min(key.bits - 1, 62),
          static_cast<int64_t>(key.ranks),
          static_cast<int64_t>(count),
          own / 1e3,
          usual / 1e3,
          own / usual};
}

struct Slow {
  std::vector<std::pair<uint32_t, Ns>> less;  // by match, what mending it would save
  double saved = 0;
  double ratio = 1, error = 0;
  std::set<uint32_t> steps;
  Table table{"transfers", {"type", "bytes_from", "ranks", "count", "median_us", "usual_us", "ratio"}, {}};
};

Finding MakeSlowGroup(const Context& context, TextId group, Slow&& slow, bool is_own_history) {
  Finding finding;
  finding.id = "comm.slow-group";
  const Where where = WhereOfGroup(context, group);
  const std::string ranks = base::Joined(where.ranks, ",");
  finding.key = "comm.slow-group/" + ranks + (is_own_history ? "/sometimes" : "");
  finding.title = GroupName(context, group) + ": data take " + Times(slow.ratio) + " as long as " +
                  (is_own_history ? "usual, now and then" : "in groups like it");
  finding.where = where;
  finding.steps.assign(slow.steps.begin(), slow.steps.end());
  finding.evidence.push_back(std::move(slow.table));
  finding.advice = {
      "look at the links, ports and cables between its ranks; compare their counters with another group's"};
  finding.factors = {Occurrences(slow.steps.size()),
                     {"effect", std::min(1.0, (slow.ratio - 1) / std::max(5 * slow.error, 1e-9)),
                      Times(slow.ratio) + " as long"}};
  finding.without = [less = std::move(slow.less)](const Replay& replay, Lengths& lengths) {
    std::vector<Ns>& all = replay.TouchMatches(lengths);
    for (const auto& [match, ns] : less) all[match] = std::max(all[match], ns);
  };
  return finding;
}

}  // namespace

void FindSlowGroups(const Context& context, Found& found) {
  const auto min_ops = static_cast<size_t>(context.Get("comm.min_ops"));
  const double ratio = context.Get("comm.slow_ratio");
  std::map<TextId, Slow> slow;
  for (const auto& [key, groups] : Classes(context)) {
    std::map<TextId, double> medians;
    for (const auto& [group, matches] : groups) {
      if (matches.size() >= min_ops) medians[group] = Median(TransfersOf(context, matches));
    }
    if (medians.size() < kFewGroups) continue;
    std::vector<double> all;
    for (const auto& [group, median] : medians) all.push_back(median);
    const double usual = Usual(all, ratio - 1);
    for (const auto& [group, median] : medians) {
      if (usual <= 0 || median < ratio * usual) continue;
      const std::vector<uint32_t>& matches = groups.at(group);
      const std::vector<Ns> lengths = TransfersOf(context, matches);
      const double error = 1.2533 * Spread(lengths) / std::sqrt(static_cast<double>(lengths.size())) / usual;
      if (median / usual - 1 < context.Get("general.effect_se") * error) continue;
      Slow& of = slow[group];
      for (size_t i = 0; i < matches.size(); ++i) {
        const double less = static_cast<double>(lengths[i]) * (1 - usual / median);
        of.less.emplace_back(matches[i], std::llround(less));
        of.saved += less;
        of.steps.insert(context.matches.all[matches[i]].step);
      }
      if (median / usual > of.ratio) {
        of.ratio = median / usual;
        of.error = error;
      }
      if (of.table.rows.size() < 50)
        of.table.rows.push_back(ClassRow(context, key, matches.size(), median, usual));
    }
  }
  for (auto& [group, of] : slow)
    found.findings.push_back(MakeSlowGroup(context, group, std::move(of), false));
}

// Single transfers that take much longer than the others of their group.
void FindSlowTransfers(const Context& context, Found& found) {
  const double ratio = context.Get("comm.outlier_ratio");
  const auto least_once = std::max(context.Get("general.min_once_ms") * 1e6,
                                   context.Get("general.once_step_percent") / 100 * context.median_step_ns);
  const double retry = context.Get("comm.retry_ms") * 1e6;
  std::map<TextId, Slow> slow;
  for (const auto& [key, groups] : Classes(context)) {
    for (const auto& [group, matches] : groups) {
      if (matches.size() < 5) continue;
      const std::vector<Ns> lengths = TransfersOf(context, matches);
      const double usual = Median(lengths);
      size_t count = 0;
      double longest = 0;
      for (size_t i = 0; i < matches.size(); ++i) {
        const auto length = static_cast<double>(lengths[i]);
        const double more = length - usual;
        if (usual <= 0 || length < ratio * usual || more < 0.1 * least_once) continue;
        Slow& of = slow[group];
        of.less.emplace_back(matches[i], std::llround(more));
        of.saved += more;
        of.ratio = std::max(of.ratio, length / usual);
        of.steps.insert(context.matches.all[matches[i]].step);
        longest = std::max(longest, length);
        ++count;
      }
      if (count > 0) slow[group].table.rows.push_back(ClassRow(context, key, count, longest, usual));
    }
  }
  for (auto& [group, of] : slow) {
    const bool is_retry = std::ranges::any_of(
        of.less, [&](const auto& entry) { return static_cast<double>(entry.second) >= retry; });
    Finding finding = MakeSlowGroup(context, group, std::move(of), true);
    if (is_retry) {
      finding.id = "comm.retry";
      finding.key = "comm.retry" + finding.key.substr(std::string_view("comm.slow-group").size());
      finding.title = GroupName(context, group) + ": data were sent again after a timeout of seconds";
      finding.advice = {
          "look at lost packets: switch buffers, priority flow control, cables of the ports between its "
          "ranks"};
    }
    found.findings.push_back(std::move(finding));
  }
}

namespace {

// The last collective of a group at the end of the recording: who has begun it, and who never does.
struct Hang {
  TextId group = 0;
  std::set<uint32_t> missing;
  std::vector<std::pair<uint32_t, const Collective*>> waiting;
  double waited = 0;
};

}  // namespace

void FindHangs(const Context& context, Found& found) {
  const Job& job = context.job;
  constexpr double kMuchLonger = 10;
  std::map<TextId, std::set<uint32_t>> users;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    for (const Collective& collective : job.ranks[r].collectives) users[collective.group].insert(r);
  }
  std::map<TextId, std::vector<Ns>> usual;
  for (uint32_t i = 0; i < context.matches.all.size(); ++i) {
    const Match& match = context.matches.all[i];
    if (!match.is_pair && match.members.size() == users[match.group].size())
      usual[match.group].push_back(context.replay.Transfer(i));
  }
  std::vector<Hang> hangs;
  std::set<uint32_t> stuck;  // ranks that wait themselves
  for (const auto& [group, ranks] : users) {
    // What each rank has behind the last collective that all of them share.
    std::map<uint32_t, std::vector<const Collective*>> tails;
    size_t most = 0;
    for (const uint32_t r : ranks) {
      std::vector<const Collective*>& tail = tails[r];
      for (const Collective& collective : job.ranks[r].collectives) {
        if (collective.group != group) continue;
        const bool is_shared =
            collective.match != kNone && context.matches.all[collective.match].members.size() == ranks.size();
        if (is_shared) {
          tail.clear();
        } else {
          tail.push_back(&collective);
        }
      }
      most = std::max(most, tail.size());
    }
    if (most == 0 || usual[group].empty()) continue;
    Hang hang;
    hang.group = group;
    hang.waited = std::numeric_limits<double>::max();
    bool is_one_behind = true;
    for (const auto& [r, tail] : tails) {
      if (tail.size() == most) {
        hang.waiting.emplace_back(r, tail.back());
        hang.waited = std::min(hang.waited, static_cast<double>(tail.back()->end - tail.back()->begin));
      } else {
        hang.missing.insert(r);
        is_one_behind = is_one_behind && tail.size() + 1 == most;
      }
    }
    if (hang.missing.empty() || !is_one_behind || hang.waited < kMuchLonger * Median(usual[group])) continue;
    for (const auto& [r, collective] : hang.waiting) stuck.insert(r);
    hangs.push_back(std::move(hang));
  }
  for (auto& [group, missing, waiting, waited] : hangs) {
    // One that waits for somebody else does not keep the others waiting.
    std::erase_if(missing, [&stuck](uint32_t r) { return stuck.contains(r); });
    if (missing.empty()) continue;
    Finding finding;
    finding.id = "comm.hang";
    std::string names;
    for (const uint32_t r : missing) {
      base::AddTo(names, job.ranks[r].number);
      finding.where.ranks.push_back(job.ranks[r].number);
    }
    finding.key = "comm.hang/" + names;
    finding.where.groups = {std::string(job.Text(group))};
    finding.title = "rank " + names + " never comes to the last " +
                    std::string(job.Text(waiting.front().second->type)) + " of the " +
                    GroupName(context, group) + "; the others wait " + Time(waited);
    finding.severity = Severity::kCritical;
    finding.is_fact = true;
    finding.cost.method = Method::kNone;
    Table table{"who waits", {"rank", "since_ns", "waited_ms"}, {}};
    for (const auto& [r, waits] : waiting) {
      if (table.rows.size() < 50)
        table.rows.push_back(
            {job.ranks[r].number, waits->begin, static_cast<double>(waits->end - waits->begin) / 1e6});
    }
    finding.evidence.push_back(std::move(table));
    finding.advice = {"look at the last thing that rank " + names + " did before it"};
    finding.factors = {{"record", 0.9, "its collectives end before"}};
    found.findings.push_back(std::move(finding));
  }
}

void FindAbsentRanks(const Context& context, Found& found) {
  std::map<TextId, std::map<ClassKey, std::vector<uint32_t>>> groups;
  double waited = 0;
  Table table{"waits that no recorded rank explains", {"group", "absent_ranks", "ms_per_step"}, {}};
  for (uint32_t i = 0; i < context.matches.all.size(); ++i) {
    const Match& match = context.matches.all[i];
    if (match.step >= context.first && context.matches.absent.contains(match.group))
      groups[match.group][KeyOf(context, match)].push_back(i);
  }
  for (const auto& [group, classes] : groups) {
    double sum = 0;
    for (const auto& [key, matches] : classes) {
      const std::vector<Ns> lengths = TransfersOf(context, matches);
      const double least = Quantile(lengths, kShortQuantile);
      for (const Ns length : lengths) sum += std::max(0.0, static_cast<double>(length) - least);
    }
    sum /= static_cast<double>(context.steps());
    waited = std::max(waited, sum);
    if (table.rows.size() < 50)
      table.rows.push_back({std::string(context.job.Text(group)),
                            static_cast<int64_t>(context.matches.absent.at(group)), sum / 1e6});
  }
  if (waited < context.Get("rank.absent_percent") / 100 * context.step_ns) return;
  Finding finding;
  finding.id = "rank.absent";
  finding.key = "rank.absent";
  finding.title = "ranks wait " + Time(waited) + " a step for ranks that were not recorded";
  finding.severity = Severity::kInfo;
  finding.is_fact = true;
  finding.cost.method = Method::kNone;
  finding.evidence.push_back(std::move(table));
  finding.advice = {"record those ranks, too"};
  finding.factors = {{"method", 0.39, "who came last is not known"}};
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
