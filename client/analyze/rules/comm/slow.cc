// Groups whose data take longer than those of others, collectives that one rank never comes to, ranks that
// nobody recorded.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "base/join.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/comm/transfers.h"

namespace profd::analyze {
namespace {

constexpr size_t kFewGroups = 2;
constexpr double kShortQuantile = 0.1;
constexpr double kLittleMore = 1.2;

std::vector<Cell> ClassRow(const Context& context, const TransferClass& key, size_t count, double own,
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
  LessOfMatches less;
  double ratio = 1, error = 0;
  Table table{"transfers", {"type", "bytes_from", "ranks", "count", "median_us", "usual_us", "ratio"}, {}};
};

Finding MakeSlowGroup(const Context& context, TextId group, Slow&& slow, bool is_own_history) {
  Finding finding;
  finding.id = "comm.slow-group";
  const Where where = WhereOfGroup(context, group);
  const std::string ranks = base::Joined(where.ranks, ",");
  finding.key = "comm.slow-group/" + ranks + (is_own_history ? "/sometimes" : "");
  finding.title = GroupName(context, group) + ": " + (is_own_history ? "some data take " : "data take ") +
                  Times(slow.ratio) + " as long as " + (is_own_history ? "usual" : "in groups like it");
  finding.where = where;
  finding.steps = StepsOf(context, slow.less);
  finding.evidence.push_back(std::move(slow.table));
  finding.advice = {
      "look at the links, ports and cables between its ranks; compare their counters with another group's"};
  finding.factors = {Occurrences(finding.steps.size()),
                     {"effect", std::min(1.0, (slow.ratio - 1) / std::max(5 * slow.error, 1e-9)),
                      Times(slow.ratio) + " as long"}};
  finding.without = Without(std::move(slow.less));
  return finding;
}

}  // namespace

void FindSlowGroups(const Context& context, Found& found) {
  const auto min_ops = static_cast<size_t>(context.Get("comm.min_ops"));
  const double ratio = context.Get("comm.slow_ratio");
  const std::map<TextId, double> slow_links = SlowLinkGroups(context);
  std::map<TextId, Slow> slow;
  for (const auto& [key, groups] : TransfersByClass(context)) {
    std::map<TextId, double> medians;
    for (const auto& [group, matches] : groups) {
      if (matches.size() >= min_ops) medians[group] = Median(LengthsOf(context, matches));
    }
    if (medians.size() < kFewGroups) continue;
    std::vector<double> all;
    all.reserve(medians.size());
    for (const auto& [group, median] : medians) all.push_back(median);
    const double usual = Usual(all, ratio - 1);
    for (const auto& [group, median] : medians) {
      if (usual <= 0 || median < ratio * usual) continue;
      const std::vector<uint32_t>& matches = groups.at(group);
      const std::vector<Ns> lengths = LengthsOf(context, matches);
      const double error = MedianError(lengths) / usual;
      if (median / usual - 1 < context.Get("general.effect_se") * error) continue;
      Slow& of = slow[group];
      for (size_t i = 0; i < matches.size(); ++i) {
        const double less = static_cast<double>(lengths[i]) * (1 - usual / median);
        of.less.emplace_back(matches[i], std::llround(less));
      }
      if (median / usual > of.ratio) {
        of.ratio = median / usual;
        of.error = error;
      }
      if (of.table.rows.size() < 50)
        of.table.rows.push_back(ClassRow(context, key, matches.size(), median, usual));
    }
  }
  for (auto& [group, of] : slow) {
    // Rule comm.slow-link says which link it is.
    const auto link = slow_links.find(group);
    if (link != slow_links.end() && of.ratio < kLittleMore * link->second) continue;
    found.findings.push_back(MakeSlowGroup(context, group, std::move(of), false));
  }
}

// Single transfers that take much longer than the others of their group.
void FindSlowTransfers(const Context& context, Found& found) {
  const double ratio = context.Get("comm.outlier_ratio");
  const auto least_once = std::max(context.Get("general.min_once_ms") * 1e6,
                                   context.Get("general.once_step_percent") / 100 * context.median_step_ns);
  const double retry = context.Get("comm.retry_ms") * 1e6;
  std::map<TextId, Slow> slow;
  for (const auto& [key, groups] : TransfersByClass(context)) {
    for (const auto& [group, matches] : groups) {
      if (matches.size() < 5) continue;
      const std::vector<Ns> lengths = LengthsOf(context, matches);
      const double usual = Median(lengths);
      size_t count = 0;
      double longest = 0;
      for (size_t i = 0; i < matches.size(); ++i) {
        const auto length = static_cast<double>(lengths[i]);
        const double more = length - usual;
        if (usual <= 0 || length < ratio * usual || more < 0.1 * least_once) continue;
        Slow& of = slow[group];
        of.less.emplace_back(matches[i], std::llround(more));
        of.ratio = std::max(of.ratio, length / usual);
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

// Two that wait for each other: the missing of each are those that wait in the other one.
bool IsCrossed(const Hang& one, const Hang& other) {
  const auto all_wait_in = [](const std::set<uint32_t>& missing, const Hang& where) {
    return std::ranges::all_of(missing, [&](uint32_t r) {
      return std::ranges::any_of(where.waiting, [r](const auto& entry) { return entry.first == r; });
    });
  };
  return all_wait_in(one.missing, other) && all_wait_in(other.missing, one);
}

Finding MakeCrossed(const Context& context, const Hang& one, const Hang& other) {
  const Job& job = context.job;
  // Who is alone with its order is most likely the one that is wrong.
  const Hang &odd = one.missing.size() <= other.missing.size() ? one : other,
             &rest = &odd == &one ? other : one;
  const std::vector<uint32_t> ranks(odd.missing.begin(), odd.missing.end()),
      others(rest.missing.begin(), rest.missing.end());
  Finding finding;
  finding.id = "comm.order";
  finding.where = WhereOf(job, ranks);
  finding.where.groups = {std::string(job.Text(odd.group)), std::string(job.Text(rest.group))};
  finding.key = "comm.order/" + RankList(job, ranks);
  finding.title = "rank " + RankList(job, ranks) + " waits in the " + GroupName(context, rest.group) +
                  " for rank " + RankList(job, others) + ", which waits for it in the " +
                  GroupName(context, odd.group) + ": they call these in different order";
  finding.severity = Severity::kCritical;
  finding.is_fact = true;
  finding.cost.method = Method::kNone;
  Table table{"who waits", {"rank", "group", "collective", "since_ns", "waited_ms"}, {}};
  for (const Hang* hang : {&odd, &rest}) {
    for (const auto& [r, waits] : hang->waiting) {
      if (table.rows.size() < 50)
        table.rows.push_back({job.ranks[r].number, GroupName(context, hang->group),
                              std::string(job.Text(waits->name)), waits->begin,
                              static_cast<double>(waits->end - waits->begin) / 1e6});
    }
  }
  finding.evidence.push_back(std::move(table));
  finding.advice = {"call collectives of groups that share ranks in the same order on all of them"};
  finding.factors = {{"record", 0.9, "each of them has begun one and not the other"}};
  return finding;
}

}  // namespace

void FindHangs(const Context& context, Found& found) {
  const Job& job = context.job;
  constexpr double kMuchLonger = 10;
  std::map<TextId, std::vector<Ns>> usual;
  for (uint32_t i = 0; i < context.matches.all.size(); ++i) {
    const Match& match = context.matches.all[i];
    if (!match.is_pair && match.members.size() == context.groups.at(match.group).ranks.size())
      usual[match.group].push_back(context.replay.Transfer(i));
  }
  std::vector<Hang> hangs;
  std::set<uint32_t> stuck;  // ranks that wait themselves
  for (const auto& [group, of] : context.groups) {
    const std::vector<uint32_t>& ranks = of.ranks;
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
  for (size_t i = 0; i < hangs.size(); ++i) {
    for (size_t j = i + 1; j < hangs.size(); ++j) {
      if (IsCrossed(hangs[i], hangs[j])) found.findings.push_back(MakeCrossed(context, hangs[i], hangs[j]));
    }
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
  std::map<TextId, std::map<TransferClass, std::vector<uint32_t>>> groups;
  double waited = 0;
  Table table{"waits that no recorded rank explains", {"group", "absent_ranks", "ms_per_step"}, {}};
  for (uint32_t i = 0; i < context.matches.all.size(); ++i) {
    const Match& match = context.matches.all[i];
    if (match.step >= context.first && context.matches.absent.contains(match.group))
      groups[match.group][ClassOf(context, match)].push_back(i);
  }
  for (const auto& [group, classes] : groups) {
    double sum = 0;
    for (const auto& [key, matches] : classes) {
      const std::vector<Ns> lengths = LengthsOf(context, matches);
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
