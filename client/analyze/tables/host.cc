// What hosts did, and what devices did without them.
#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "client/analyze/model/clock.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/host/stall_cause.h"
#include "client/analyze/tables/spread.h"
#include "client/analyze/tables/tables.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostGaps = 10;  // of a rank
constexpr size_t kMostPlaces = 20;

double Us(Ns ns) { return static_cast<double>(ns) / 1e3; }

}  // namespace

Table ApiTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  const auto visit = [](const Rank& rank, auto take) {
    for (const Call& call : rank.calls) {
      if (call.kind == CallKind::kLaunch) take(call.name, call.end - call.begin);
    }
    for (const CallLength& call : rank.all_calls) take(call.name, call.ns);
  };
  std::map<std::string_view, TextId> sorted;
  std::vector<size_t> of_names(job.texts.size());  // how many, then their place by name
  for (const Rank& rank : job.ranks) visit(rank, [&of_names](TextId name, Ns) { ++of_names[name]; });
  for (TextId name = 0; name < of_names.size(); ++name) {
    if (of_names[name] > 0) sorted[job.Text(name)] = name;
  }
  std::vector<std::string_view> names;
  std::vector<size_t> counts;
  for (const auto& [text, name] : sorted) {
    names.push_back(text);
    counts.push_back(std::exchange(of_names[name], counts.size()));
  }
  Table table{"api", WithSpread({"rank", "name"}), {}};
  const auto add = [&](const Cell& rank, size_t key, std::vector<Ns>& lengths) {
    AddSpread(table.rows.emplace_back(std::vector<Cell>{rank, std::string(names[key])}), lengths);
  };
  InParts(
      counts,
      [&](auto take) {
        for (const Rank& rank : job.ranks)
          visit(rank, [&](TextId name, Ns length) { take(of_names[name], length); });
      },
      [&](size_t key, std::vector<Ns>& lengths) { add(std::string("all"), key, lengths); });
  std::vector<std::vector<Ns>> own(names.size());
  for (const Rank& rank : job.ranks) {
    visit(rank, [&](TextId name, Ns length) { own[of_names[name]].push_back(length); });
    for (size_t key = 0; key < own.size(); ++key) {
      if (!own[key].empty()) add(rank.number, key, own[key]);
      own[key].clear();
    }
  }
  return table;
}

Table LaunchesTable(const Analysis& analysis) {
  Table table{"launches",
              {"rank", "launches", "median_call_us", "median_between_us", "least_latency_us",
               "median_latency_us", "found_empty_queue"},
              {}};
  for (size_t r = 0; r < analysis.job().ranks.size(); ++r) {
    const Rank& rank = analysis.job().ranks[r];
    if (rank.level < Level::kLaunches) continue;
    std::vector<Ns> calls, between, latencies;
    for (size_t i = 0; i < rank.calls.size(); ++i) {
      if (rank.calls[i].kind != CallKind::kLaunch) continue;
      calls.push_back(rank.calls[i].end - rank.calls[i].begin);
      if (i > 0) between.push_back(rank.calls[i].begin - rank.calls[i - 1].end);
    }
    int64_t empty = 0, all = 0;
    Ns reached = INT64_MIN;
    for (const Task& task : rank.tasks) {
      if (task.launch != kNone && task.work != Work::kCollective) {
        latencies.push_back(task.begin - rank.calls[task.launch].begin);
        ++all;
        empty += rank.calls[task.launch].begin + analysis.context().replay.Latency(r) >= reached;
      }
      reached = std::max(reached, task.end);
    }
    table.rows.push_back({rank.number, static_cast<int64_t>(calls.size()), Median(calls) / 1e3,
                          Median(between) / 1e3, Us(analysis.context().replay.Latency(r)),
                          Median(latencies) / 1e3,
                          all > 0 ? static_cast<double>(empty) / static_cast<double>(all) : 0.0});
  }
  return table;
}

Table GapsTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  Table table{"gaps", {"rank", "step", "at_ns", "us", "before", "behind", "host"}, {}};
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    struct Gap {
      Ns from;
      uint32_t before, behind;
    };
    std::vector<std::pair<Ns, Gap>> gaps;
    Ns reached = INT64_MIN;
    uint32_t last = kNone;
    for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
      const Task& task = rank.tasks[i];
      if (last != kNone && task.begin > reached) gaps.push_back({reached - task.begin, {reached, last, i}});
      if (task.end > reached) reached = task.end, last = i;
    }
    const size_t most = std::min(gaps.size(), kMostGaps);
    std::partial_sort(gaps.begin(), gaps.begin() + static_cast<std::ptrdiff_t>(most), gaps.end(),
                      [](const auto& a, const auto& b) {
                        return std::tie(a.first, a.second.from) < std::tie(b.first, b.second.from);
                      });
    gaps.resize(most);
    for (const auto& [minus, gap] : gaps) {
      const Task& behind = rank.tasks[gap.behind];
      Piece piece;
      piece.rank = r;
      piece.of_task = behind.launch == kNone;
      piece.index = piece.of_task ? gap.behind : behind.launch;
      piece.from = gap.from;
      piece.to = behind.begin;
      if (!piece.of_task && rank.calls[behind.launch].begin < gap.from) piece.of_task = true;
      const Reason reason = ReasonOf(analysis.context(), piece);
      const bool is_launched = !piece.of_task || behind.launch == kNone;
      table.rows.push_back({rank.number,
                            behind.step == kNone ? Cell(std::string()) : Cell(rank.steps[behind.step].number),
                            gap.from, Us(-minus), std::string(job.Text(rank.tasks[gap.before].name)),
                            std::string(job.Text(behind.name)),
                            !is_launched          ? std::string("it had been launched: the device waited")
                            : reason.text.empty() ? std::string("not known")
                                                  : reason.Sentence()});
    }
  }
  return table;
}

Table FrequencyTable(const Analysis& analysis) {
  Table table{
      "frequency", {"rank", "rated_mhz", "min_mhz", "max_mhz", "mean_busy_mhz", "busy_below_rated"}, {}};
  for (const Rank& rank : analysis.job().ranks) {
    if (rank.frequencies.empty()) continue;
    double least = INFINITY, most = 0;
    for (const Frequency& look : rank.frequencies) {
      least = std::min(least, look.mhz);
      most = std::max(most, look.mhz);
    }
    const ClockUse use = ClockOf(rank);
    table.rows.push_back({rank.number, rank.rated_mhz, least, most, use.mean_mhz, use.below});
  }
  return table;
}

Table HostTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  Table table{"host", {"rank", "what", "where", "count", "ms"}, {}};
  for (const Rank& rank : job.ranks) {
    for (const bool waits : {true, false}) {
      std::map<TextId, std::pair<int64_t, Ns>> sums;
      for (const HostSpan& span : waits ? rank.waits : rank.running) {
        auto& [count, ns] = sums[job.stacks[span.stack].function];
        ++count;
        ns += span.end - span.begin;
      }
      std::vector<std::tuple<Ns, TextId, int64_t>> order;
      order.reserve(sums.size());
      for (const auto& [function, sum] : sums) order.emplace_back(-sum.second, function, sum.first);
      std::ranges::sort(order);
      order.resize(std::min(order.size(), kMostPlaces));
      for (const auto& [minus, function, count] : order)
        table.rows.push_back({rank.number, std::string(waits ? "waits" : "computes"),
                              std::string(job.Text(function)), count, static_cast<double>(-minus) / 1e6});
    }
    std::map<TextId, std::pair<int64_t, double>> throttled;
    for (const CgroupLook& look : rank.cgroups) {
      if (!(look.throttled > 0)) continue;
      auto& [count, ns] = throttled[look.cgroup];
      ++count;
      ns += look.throttled * static_cast<double>(look.to - look.from);
    }
    for (const auto& [cgroup, sum] : throttled)
      table.rows.push_back({rank.number, std::string("is kept from its CPUs, all threads together"),
                            std::string(job.Text(cgroup)), sum.first, sum.second / 1e6});
  }
  return table;
}

Table MemoryTable(const Analysis& analysis) {
  Table table{"memory", {"rank", "owner", "first_bytes", "last_bytes", "most_bytes"}, {}};
  for (const Rank& rank : analysis.job().ranks) {
    struct Sum {
      double first = 0, last = 0, most = 0;
    };
    std::map<TextId, Sum> owners;
    for (const MemoryLook& look : rank.memory) {
      const auto [at, is_new] = owners.try_emplace(look.owner, Sum{look.bytes, 0, 0});
      at->second.last = look.bytes;
      at->second.most = std::max(at->second.most, look.bytes);
    }
    for (const auto& [owner, sum] : owners)
      table.rows.push_back(
          {rank.number, std::string(analysis.job().Text(owner)), sum.first, sum.last, sum.most});
  }
  return table;
}

}  // namespace profd::analyze
