// What data between ranks cost beyond their own way: because nothing is computed meanwhile, because something
// else is in their way, because they come in pieces too small.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <span>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/comm/transfers.h"

namespace profd::analyze {
namespace {

constexpr Ns kBehind = 50'000;  // what begins so soon behind another one of its group was waiting for it
constexpr size_t kMostRows = 20;

const Collective& Of(const Job& job, const Match::Member& member) {
  return job.ranks[member.rank].collectives[member.collective];
}

Finding Unsure(std::string id, std::string key, std::string title, LessOfMatches less,
               const Context& context) {
  Finding finding;
  finding.id = std::move(id);
  finding.key = std::move(key);
  finding.title = std::move(title);
  finding.steps = StepsOf(context, less);
  finding.cost.method = Method::kHeuristic;
  finding.factors = {{"method", 0.6, "an upper bound: what would be possible is not recorded"},
                     Occurrences(finding.steps.size())};
  finding.without = Without(std::move(less));
  return finding;
}

}  // namespace

// Collectives of a group that follow one another though what they carry was ready at different times: all but
// the last could have gone while the rest was computed.
void FindExposed(const Context& context, Found& found) {
  const Job& job = context.job;
  struct Group {
    LessOfMatches less;
    double exposed = 0, could = 0, all = 0;
  };
  std::map<TextId, Group> groups;
  std::map<TextId, std::vector<uint32_t>> by_group;
  for (const auto& [key, of] : TransfersByClass(context)) {
    for (const auto& [group, matches] : of)
      by_group[group].insert(by_group[group].end(), matches.begin(), matches.end());
  }
  for (auto& [id, matches] : by_group) {
    std::ranges::sort(matches, {}, [&](uint32_t match) {
      const Match& of = context.matches.all[match];
      return std::pair(of.step, of.position);
    });
    for (size_t i = 0; i < matches.size();) {
      // A run of one step: each begins right behind the one before, and nothing is computed beside any of
      // them.
      size_t end = i + 1;
      const auto& first = context.matches.all[matches[i]];
      const uint32_t r = first.members.front().rank;
      const Rank& rank = job.ranks[r];
      const auto own = [&, &matches = matches](size_t at) -> const Collective& {
        return Of(job, context.matches.all[matches[at]].members.front());
      };
      while (end < matches.size() && context.matches.all[matches[end]].step == first.step &&
             context.matches.all[matches[end]].members.front().rank == r &&
             own(end).begin - own(end - 1).end < kBehind)
        ++end;
      Ns run = 0, hidden = 0;
      for (size_t at = i; at < end; ++at) {
        const Way way = WayOf(context, matches[at]);
        run += way.length();
        hidden += ComputedIn(rank, way.from, way.to);
      }
      if (end - i >= 2 && hidden * 10 < run) {
        // The computing between the group's collective before, or the step's begin, and the run.
        Ns from = rank.steps[own(i).step].begin;
        if (i > 0 && context.matches.all[matches[i - 1]].step == first.step) from = own(i - 1).end;
        const Ns before = ComputedIn(rank, from, own(i).begin);
        Group& group = groups[id];
        Ns room = before;
        for (size_t at = i; at + 1 < end; ++at) {
          const Ns less = std::min(room, context.replay.Transfer(matches[at]));
          if (less <= 0) break;
          room -= less;
          group.less.emplace_back(matches[at], less);
          group.could += static_cast<double>(less);
        }
        group.exposed += static_cast<double>(run);
      }
      groups[id].all += static_cast<double>(run);
      i = end;
    }
  }
  const auto steps = static_cast<double>(context.steps());
  double exposed = 0;
  LessOfMatches less;
  Table table{
      "data that nothing is computed beside", {"group", "ms_per_step", "could_be_hidden_ms_per_step"}, {}};
  std::set<TextId> which;
  // Groups of one role do it alike, each on its own ranks: what one rank waits for counts once.
  std::map<std::string, double> of_role;
  for (auto& [id, group] : groups) {
    // One that has most of its data go beside kernels does what it can.
    constexpr double kMostly = 0.75;
    if (group.less.empty() || group.exposed < kMostly * group.all) continue;
    const std::string& role = context.groups.at(id).role;
    double& most = of_role[role.empty() ? std::string(job.Text(id)) : role];
    most = std::max(most, group.exposed / steps);
    if (table.rows.size() < kMostRows)
      table.rows.push_back({GroupName(context, id), group.exposed / steps / 1e6, group.could / steps / 1e6});
    less.insert(less.end(), group.less.begin(), group.less.end());
    which.insert(id);
  }
  for (const auto& [role, ns] : of_role) exposed += ns;
  if (less.empty() || exposed < context.Get("comm.exposed_percent") / 100 * context.step_ns) return;
  Finding finding =
      Unsure("comm.exposed", "comm.exposed",
             Time(exposed) + " of a step ranks exchange data behind each other while nothing is computed: " +
                 GroupName(context, which),
             std::move(less), context);
  finding.where = WhereOfGroups(context, which);
  finding.evidence.push_back(std::move(table));
  finding.advice = {"send what is ready while the rest is computed: overlap of gradients, another stream"};
  found.findings.push_back(std::move(finding));
}

namespace {

// What may be in the way of data.
struct Other {
  const char *name, *advice;
  bool (*is)(const Job& job, const Rank& rank, const Task& task, TextId group);
};
constexpr Other kOthers[] = {
    {"matrix products",
     "let them use fewer cores or less memory bandwidth, or move the data to where none runs",
     [](const Job& job, const Rank&, const Task& task, TextId) {
       if (task.work != Work::kCompute || task.kind == kNone) return false;
       const std::string_view type = job.Text(job.classes[task.kind].type);
       return type.find("MatMul") != type.npos || type.find("Matmul") != type.npos ||
              type.find("matmul") != type.npos || type.find("Attention") != type.npos;
     }},
    {"copies", "copy at another time",
     [](const Job&, const Rank&, const Task& task, TextId) { return task.work == Work::kCopy; }},
    {"data of other groups", "let one go behind the other, or give each links of its own",
     [](const Job&, const Rank& rank, const Task& task, TextId group) {
       return task.work == Work::kCollective && rank.collectives[task.kind].group != group;
     }},
};

}  // namespace

void FindContention(const Context& context, Found& found) {
  const Job& job = context.job;
  constexpr double kBeside = 0.3, kFree = 0.05;
  const auto min_samples = static_cast<size_t>(context.Get("comm.min_samples"));
  const double least = 1 / context.Get("comm.contention_ratio");
  for (const Other& other : kOthers) {
    LessOfMatches less;
    double worst = 1, sure = 1;
    Table table{"transfers beside " + std::string(other.name) + " and without",
                {"type", "role", "bytes_from", "beside", "median_us", "without", "median_us", "ratio"},
                {}};
    std::set<TextId> which;
    for (const auto& [key, groups] : TransfersByClass(context)) {
      // Of each group to its own usual: links differ.
      std::vector<std::pair<uint32_t, double>> beside;  // match, its length
      std::vector<double> beside_ratio, free_ratio, free_us, beside_us;
      for (const auto& [group, matches] : groups) {
        std::vector<double> of_free;
        std::vector<std::pair<uint32_t, double>> of_beside;
        for (const uint32_t match : matches) {
          const Way way = WayOf(context, match);
          if (way.length() <= 0) continue;
          double most = 0;
          constexpr size_t kMostMembers = 8;  // of many ranks some tell for all
          const auto& members = context.matches.all[match].members;
          for (const Match::Member& member :
               std::span(members).first(std::min(members.size(), kMostMembers))) {
            const Rank& rank = job.ranks[member.rank];
            const Ns covered = Covered(rank, way.from, way.to, [&, id = group](const Task& task) {
              return other.is(job, rank, task, id);
            });
            most = std::max(most, static_cast<double>(covered) / static_cast<double>(way.length()));
          }
          if (most >= kBeside) of_beside.emplace_back(match, static_cast<double>(way.length()));
          if (most < kFree) of_free.push_back(static_cast<double>(way.length()));
        }
        if (of_free.empty() || of_beside.empty()) continue;
        const double usual = Median(of_free);
        for (const double length : of_free)
          free_ratio.push_back(length / usual), free_us.push_back(length / 1e3);
        for (const auto& [match, length] : of_beside) {
          beside_ratio.push_back(length / usual);
          beside_us.push_back(length / 1e3);
          beside.emplace_back(match, length);
        }
      }
      if (beside.size() < min_samples || free_ratio.size() < min_samples) continue;
      const double ratio = Median(beside_ratio);
      const double error = std::hypot(MedianError(beside_ratio), MedianError(free_ratio));
      if (ratio < least || ratio - 1 < context.Get("general.effect_se") * error) continue;
      for (const auto& [match, length] : beside) {
        less.emplace_back(match, std::llround(length * (1 - 1 / ratio)));
        which.insert(context.matches.all[match].group);
      }
      if (ratio > worst) worst = ratio, sure = std::min(1.0, (ratio - 1) / std::max(5 * error, 1e-9));
      if (table.rows.size() < kMostRows)
        table.rows.push_back({std::string(job.Text(key.type)), std::string(key.role),
                              key.bits <= 0 ? int64_t{0} : int64_t{1} << std::min(key.bits - 1, 62),
                              static_cast<int64_t>(beside.size()), Median(beside_us),
                              static_cast<int64_t>(free_ratio.size()), Median(free_us), ratio});
    }
    if (less.empty()) continue;
    Finding finding;
    finding.id = "comm.contention";
    finding.key = "comm.contention/" + std::string(other.name);
    finding.title = GroupName(context, which) + ": data take " + Times(worst) + " as long while " +
                    other.name + " run beside them";
    finding.where = WhereOfGroups(context, which);
    finding.steps = StepsOf(context, less);
    finding.evidence.push_back(std::move(table));
    finding.advice = {other.advice};
    finding.factors = {
        Occurrences(finding.steps.size()),
        {"effect", sure, Times(worst) + " as long beside them"},
        {"cause", 0.8, "the recording shows that they coincide, not that one causes the other"}};
    finding.without = Without(std::move(less));
    found.findings.push_back(std::move(finding));
  }
}

namespace {

// Time of a transfer of n bytes: latency + n / rate, by medians of each size. False: sizes do not tell.
struct Fit {
  double latency_ns = 0, ns_per_byte = 0;
  double R2 = 0;
};
bool FitOf(const Context& context, const std::map<uint64_t, std::vector<uint32_t>>& by_size, Fit& fit) {
  constexpr size_t kLeastSizes = 3, kLeastOps = 32, kLeastOfSize = 3;
  constexpr double kLeastR2 = 0.8;
  std::vector<std::pair<double, double>> points;
  size_t all = 0;
  for (const auto& [bytes, matches] : by_size) {
    if (bytes == 0 || matches.size() < kLeastOfSize) continue;
    points.emplace_back(static_cast<double>(bytes), Median(LengthsOf(context, matches)));
    all += matches.size();
  }
  if (points.size() < kLeastSizes || all < kLeastOps) return false;
  std::vector<double> slopes, rests;
  for (size_t i = 0; i < points.size(); ++i) {
    for (size_t j = i + 1; j < points.size(); ++j)
      slopes.push_back((points[j].second - points[i].second) / (points[j].first - points[i].first));
  }
  fit.ns_per_byte = std::max(0.0, Median(slopes));
  for (const auto& [bytes, ns] : points) rests.push_back(ns - fit.ns_per_byte * bytes);
  fit.latency_ns = Median(rests);
  std::vector<double> logs;
  logs.reserve(points.size());
  for (const auto& [bytes, ns] : points) logs.push_back(std::log(ns));
  const double mean = Mean(logs);
  double rest = 0, whole = 0;
  for (const auto& [bytes, ns] : points) {
    const double told = fit.latency_ns + fit.ns_per_byte * bytes;
    if (told <= 0) return false;
    rest += (std::log(ns) - std::log(told)) * (std::log(ns) - std::log(told));
    whole += (std::log(ns) - mean) * (std::log(ns) - mean);
  }
  fit.R2 = whole > 0 ? 1 - rest / whole : 0;
  return fit.latency_ns > 0 && fit.R2 >= kLeastR2;
}

}  // namespace

// Many collectives so small that their latency is most of their time, one behind the other.
void FindSmall(const Context& context, Found& found) {
  const Job& job = context.job;
  struct Sizes {
    std::map<uint64_t, std::vector<uint32_t>> by_size;
    std::map<TextId, std::vector<uint32_t>> by_group;
  };
  std::map<TransferClass, Sizes> classes;  // of all sizes
  for (const auto& [key, groups] : TransfersByClass(context)) {
    TransferClass of = key;
    of.bits = 0;
    for (const auto& [group, matches] : groups) {
      Sizes& sizes = classes[of];
      for (const uint32_t match : matches) sizes.by_size[context.matches.all[match].bytes].push_back(match);
      sizes.by_group[group].insert(sizes.by_group[group].end(), matches.begin(), matches.end());
    }
  }
  LessOfMatches less;
  std::set<TextId> which;
  std::map<uint32_t, std::vector<uint32_t>>
      spared;  // by rank: calls that launch what can go with another one
  size_t count = 0;
  Table table{"sizes", {"type", "role", "bytes", "count", "median_us", "latency_us", "gigabytes_per_s"}, {}};
  for (auto& [key, sizes] : classes) {
    Fit fit;
    if (!FitOf(context, sizes.by_size, fit)) continue;
    // Where the rate is half of the best. A latency below a fifth of the time is no matter; what carries ten
    // times as much as that has it so.
    const double half = fit.ns_per_byte > 0 ? fit.latency_ns / fit.ns_per_byte : 1e18;
    const double small = 4 * half, bucket = 10 * half;
    for (auto& [group, matches] : sizes.by_group) {
      std::ranges::sort(matches, {}, [&](uint32_t match) {
        const Match& of = context.matches.all[match];
        return std::pair(of.step, of.position);
      });
      double carried = 0;
      for (size_t i = 0; i < matches.size(); ++i) {
        const Match& match = context.matches.all[matches[i]];
        const auto bytes = static_cast<double>(match.bytes);
        if (bytes <= 0 || bytes >= small) {
          carried = 0;
          continue;
        }
        const bool follows =
            i > 0 && carried > 0 && context.matches.all[matches[i - 1]].step == match.step &&
            match.members.front().rank == context.matches.all[matches[i - 1]].members.front().rank &&
            Of(job, match.members.front()).begin -
                    Of(job, context.matches.all[matches[i - 1]].members.front()).end <
                kBehind;
        if (!follows || carried + bytes > bucket) {
          carried = bytes;
          continue;
        }
        carried += bytes;
        const Ns latency = std::min<Ns>(std::llround(fit.latency_ns), context.replay.Transfer(matches[i]));
        less.emplace_back(matches[i], latency);
        which.insert(group);
        ++count;
        for (const Match::Member& member : match.members) {
          const Collective& own = Of(job, member);
          const uint32_t launch = job.ranks[member.rank].tasks[own.task].launch;
          if (launch != kNone) spared[member.rank].push_back(launch);
        }
      }
    }
    for (const auto& [bytes, matches] : sizes.by_size) {
      const double median = Median(LengthsOf(context, matches));
      if (table.rows.size() < kMostRows)
        table.rows.push_back({std::string(job.Text(key.type)), std::string(key.role),
                              static_cast<int64_t>(bytes), static_cast<int64_t>(matches.size()), median / 1e3,
                              fit.latency_ns / 1e3, median > 0 ? static_cast<double>(bytes) / median : 0.0});
    }
  }
  if (less.empty()) return;
  const double per_step = static_cast<double>(count) / static_cast<double>(context.steps() * which.size());
  Finding finding = Unsure("comm.small", "comm.small",
                           GroupName(context, which) + ": " + std::to_string(std::lround(per_step)) +
                               " collectives of a step are so small that they mostly wait for their start",
                           std::move(less), context);
  finding.where = WhereOfGroups(context, which);
  finding.evidence.push_back(std::move(table));
  finding.advice = {"put several into one: larger buckets of gradients, fused calls"};
  finding.without = [data = std::move(finding.without), spared = std::move(spared)](const Replay& replay,
                                                                                    Lengths& lengths) {
    data(replay, lengths);
    for (const auto& [r, calls] : spared) {
      const Rank& rank = replay.job().ranks[r];
      Lengths::OfRank& of = replay.Touch(lengths, r);
      of.no_call.resize(rank.calls.size());
      for (const uint32_t call : calls) {
        of.no_call[call] = true;
        if (call > 0)
          of.call_less[call] =
              std::max<Ns>(of.call_less[call], rank.calls[call].begin - rank.calls[call - 1].end);
      }
    }
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
