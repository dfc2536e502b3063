// Groups whose data take longer than those of others, ranks that nobody recorded.
#include <algorithm>
#include <cmath>
#include <map>

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

// How long collectives take whose group has one rank that is recorded, and others that are not: by group,
// type and size.
std::map<TextId, std::map<std::pair<TextId, uint64_t>, std::vector<Ns>>> LonelyLengths(
    const Context& context) {
  std::map<TextId, std::map<std::pair<TextId, uint64_t>, std::vector<Ns>>> lengths;
  for (const Rank& rank : context.job.ranks) {
    for (const Collective& collective : rank.collectives) {
      const std::string_view type = context.job.Text(collective.type);
      if (context.StepOf(rank, collective.step) == kNone || IsSend(type) || IsReceive(type) ||
          !context.matches.absent.contains(collective.group) ||
          context.groups.at(collective.group).ranks.size() > 1)
        continue;
      lengths[collective.group][{collective.type, collective.bytes}].push_back(collective.end -
                                                                               collective.begin);
    }
  }
  return lengths;
}

}  // namespace

void FindAbsentRanks(const Context& context, Found& found) {
  std::map<TextId, std::map<TransferClass, std::vector<uint32_t>>> groups;
  double waited = 0;
  Table table{"waits that no recorded rank explains", {"group", "absent_ranks", "ms_per_step"}, {}};
  for (uint32_t i = 0; i < context.matches.all.size(); ++i) {
    const Match& match = context.matches.all[i];
    if (match.step >= context.first && context.matches.absent.contains(match.group))
      groups[match.group][ClassOf(context, match)].push_back(i);
  }
  std::map<TextId, double> waits;  // ns
  const auto add = [&waits](TextId group, const std::vector<Ns>& lengths) {
    const double least = Quantile(lengths, kShortQuantile);
    for (const Ns length : lengths) waits[group] += std::max(0.0, static_cast<double>(length) - least);
  };
  for (const auto& [group, classes] : groups) {
    for (const auto& [key, matches] : classes) add(group, LengthsOf(context, matches));
  }
  for (const auto& [group, lengths] : LonelyLengths(context)) {
    for (const auto& [key, of] : lengths) add(group, of);
  }
  for (const auto& [group, ns] : waits) {
    const double sum = ns / static_cast<double>(context.steps());
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
