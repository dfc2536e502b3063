#include "client/analyze/rules/context.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "base/join.h"
#include "client/analyze/model/parallel.h"
#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

// How many kernels of each type a rank runs; ranks of one role in a job have the same.
std::map<TextId, size_t> WorkOf(const Context& context, const Rank& rank) {
  std::map<TextId, size_t> work;
  std::vector<size_t> by_class(context.job.classes.size());
  for (const Task& task : rank.tasks) {
    if (task.work == Work::kCompute && task.kind != kNone && context.StepOf(rank, task.step) != kNone)
      ++by_class[task.kind];
  }
  for (size_t i = 0; i < by_class.size(); ++i) {
    if (by_class[i] > 0) work[context.job.classes[i].type] += by_class[i];
  }
  return work;
}

double InCommon(const std::map<TextId, size_t>& one, const std::map<TextId, size_t>& other) {
  size_t both = 0, all = 0;
  for (const auto& [type, count] : one) {
    const auto found = other.find(type);
    const size_t there = found == other.end() ? 0 : found->second;
    both += std::min(count, there);
    all += std::max(count, there);
  }
  for (const auto& [type, count] : other) all += one.contains(type) ? 0 : count;
  return all == 0 ? 1 : static_cast<double>(both) / static_cast<double>(all);
}

// Of what `one` runs, kernel by kernel and shape by shape, the part that `other` runs, too.
double PartIn(const Context& context, const Rank& one, const Rank& other) {
  std::vector<size_t> own(context.job.classes.size()), there(own.size());
  const auto count = [&context](const Rank& rank, std::vector<size_t>& by_class) {
    for (const Task& task : rank.tasks) {
      if (task.work == Work::kCompute && task.kind != kNone && context.StepOf(rank, task.step) != kNone)
        ++by_class[task.kind];
    }
  };
  count(one, own);
  count(other, there);
  size_t both = 0, all = 0;
  for (size_t i = 0; i < own.size(); ++i) {
    both += std::min(own[i], there[i]);
    all += own[i];
  }
  return all == 0 ? 0 : static_cast<double>(both) / static_cast<double>(all);
}

bool SendsMessages(const Job& job, const Rank& rank) {
  return std::ranges::any_of(rank.collectives, [&job](const Collective& collective) {
    return IsSend(job.Text(collective.type)) || IsReceive(job.Text(collective.type));
  });
}

// Ranks that have more to do than most, and all that those have, are compared with them: they should be
// alike, as they exchange data. So are as many as those, where a group has none but them: of two ranks nobody
// is most. Stages of a pipeline that is not known may differ.
void JoinOdd(const Context& context, double enough, std::map<uint32_t, std::vector<uint32_t>>& roles) {
  const Job& job = context.job;
  const auto count = [&job](uint32_t r) { return job.ranks[r].tasks.size(); };
  const auto may_join = [&](uint32_t odd, const std::vector<uint32_t>& few, uint32_t leader,
                            const std::vector<uint32_t>& most) {
    if (odd == leader || most.size() < few.size()) return false;
    const bool are_most = most.size() > 1 && most.size() > few.size();
    if (!are_most && (most.size() > few.size() || count(odd) <= count(leader))) return false;
    const Rank &one = job.ranks[leader], &other = job.ranks[odd];
    if (one.gaps.any() || other.gaps.any() || context.stage[leader] != context.stage[odd]) return false;
    if (context.stage[odd] < 0 && SendsMessages(job, other)) return false;
    const bool exchange = std::ranges::any_of(context.groups, [&](const auto& group) {
      const std::vector<uint32_t>& of = group.second.ranks;
      const auto is_of = [&of](uint32_t r) { return std::ranges::binary_search(of, r); };
      const auto is_known = [&](uint32_t r) {
        return std::ranges::binary_search(few, r) || std::ranges::binary_search(most, r);
      };
      return is_of(odd) && std::ranges::any_of(most, is_of) &&
             (are_most || std::ranges::all_of(of, is_known));
    });
    return exchange && PartIn(context, one, other) >= enough;
  };
  std::vector<std::pair<uint32_t, uint32_t>> joins;  // leader of the odd ones, of most
  for (const auto& [odd, few] : roles) {
    for (const auto& [leader, most] : roles) {
      if (may_join(odd, few, leader, most)) {
        joins.emplace_back(odd, leader);
        break;
      }
    }
  }
  for (const auto& [odd, leader] : joins) {
    if (!roles.contains(odd) || !roles.contains(leader)) continue;
    std::vector<uint32_t>& most = roles[leader];
    most.insert(most.end(), roles[odd].begin(), roles[odd].end());
    std::ranges::sort(most);
    roles.erase(odd);
  }
}

std::map<TextId, GroupOf> GroupsOf(const Job& job) {
  std::map<TextId, GroupOf> groups;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    for (const Collective& collective : job.ranks[r].collectives) {
      GroupOf& group = groups[collective.group];
      if (group.ranks.empty() || group.ranks.back() != r) group.ranks.push_back(r);
    }
    for (auto& [id, group] : groups) {
      if (!group.role.empty() || group.ranks.empty() || group.ranks.back() != r) continue;
      if (const auto known = job.ranks[r].groups.find(std::string(job.Text(id)));
          known != job.ranks[r].groups.end())
        group.role = known->second.role;
    }
  }
  for (auto& [id, group] : groups) {
    std::set<std::string_view> nodes;
    for (const uint32_t rank : group.ranks) nodes.insert(job.ranks[rank].node);
    group.nodes = nodes.size();
  }
  return groups;
}

// Stages of pipelines: a step's first message between two ranks goes from a stage to the next one. Where
// stages come round again on the first rank, as those of an interleaved schedule do, the message that closes
// the circle is the last of them.
std::vector<int> StagesOf(const Job& job, const Matches& matches) {
  struct Edge {
    Ns at = 0;
    uint32_t from = 0, to = 0;
  };
  std::map<std::pair<uint32_t, uint32_t>, Edge> first;
  std::vector<int> stage(job.ranks.size(), -1);
  for (const Match& match : matches.all) {
    if (!match.is_pair || match.step != matches.all.front().step) continue;
    const Match::Member &one = match.members[0], &other = match.members[1];
    const bool one_sends = IsSend(job.Text(job.ranks[one.rank].collectives[one.collective].type));
    const Match::Member &from = one_sends ? one : other, &to = one_sends ? other : one;
    const Edge edge{job.ranks[from.rank].collectives[from.collective].end, from.rank, to.rank};
    const auto [at, is_new] = first.try_emplace({one.rank, other.rank}, edge);
    if (!is_new && edge.at < at->second.at) at->second = edge;
  }
  std::vector<Edge> edges;
  edges.reserve(first.size());
  for (const auto& [ranks, edge] : first) edges.push_back(edge);
  std::ranges::sort(edges, [](const Edge& a, const Edge& b) {
    return std::tie(a.at, a.from, a.to) < std::tie(b.at, b.from, b.to);
  });
  for (const Edge& edge : edges) {
    if (stage[edge.from] < 0 && stage[edge.to] < 0) stage[edge.from] = 0;
    if (stage[edge.from] >= 0 && stage[edge.to] < 0) stage[edge.to] = stage[edge.from] + 1;
  }
  return stage;
}

}  // namespace

Context MakeContext(const Job& job, const Matches& matches, const Clocks& clocks, const Replay& replay,
                    const Settings& settings, unsigned jobs) {
  Context context{
      job, matches, clocks, replay, settings, 0, {}, 0, {}, 0, GroupsOf(job), StagesOf(job, matches), {}, {}};
  const auto skip = static_cast<size_t>(settings.Get("general.skip_first_steps"));
  if (job.has_steps && job.steps.size() > skip) context.first = skip;
  const Replay::Outcome& measured = replay.Measured();
  context.step_times = measured.Times(context.first);
  context.step_ns = measured.Mean(context.first);
  context.step_lengths = job.has_steps ? measured.Lengths(context.first) : context.step_times;
  context.median_step_ns = Median(context.step_lengths);
  context.shares.resize(job.ranks.size());
  std::vector<std::map<TextId, size_t>> work(job.ranks.size());
  ForEach(job.ranks.size(), jobs, [&](size_t i) {
    context.shares[i] = SharesOf(job, job.ranks[i]);
    work[i] = WorkOf(context, job.ranks[i]);
  });
  // The first rank of a role stands for it.
  const double enough = settings.Get("rank.same_work_percent") / 100;
  std::vector<uint32_t> leaders;
  std::map<uint32_t, std::vector<uint32_t>> roles;
  for (uint32_t i = 0; i < job.ranks.size(); ++i) {
    // What is missing of a rank would look like less work, or like waiting.
    const auto same = std::ranges::find_if(leaders, [&](uint32_t leader) {
      return !job.ranks[leader].gaps.any() && !job.ranks[i].gaps.any() &&
             context.stage[leader] == context.stage[i] && InCommon(work[leader], work[i]) >= enough;
    });
    const uint32_t leader = same == leaders.end() ? i : *same;
    if (same == leaders.end()) leaders.push_back(i);
    roles[leader].push_back(i);
  }
  JoinOdd(context, enough, roles);
  context.peers.resize(job.ranks.size());
  for (const auto& [leader, members] : roles) {
    for (const uint32_t member : members) context.peers[member] = members;
  }
  return context;
}

std::vector<uint32_t> StepsOfCalls(const Context& context, const Rank& rank) {
  std::vector<uint32_t> steps(rank.calls.size(), kNone);
  size_t at = 0;
  for (size_t i = 0; i < rank.calls.size(); ++i) {
    while (at < rank.steps.size() && rank.steps[at].end <= rank.calls[i].begin) ++at;
    if (at < rank.steps.size() && rank.steps[at].begin <= rank.calls[i].begin)
      steps[i] = context.StepOf(rank, static_cast<uint32_t>(at));
  }
  return steps;
}

std::string VariableOf(const Context& context, const std::string& name) {
  for (const Rank& rank : context.job.ranks) {
    if (const auto known = rank.environment.find(name); known != rank.environment.end()) return known->second;
  }
  return "";
}

std::string NumberList(std::vector<int64_t> numbers) {
  constexpr size_t kLongest = 40;
  if (numbers.empty()) return "none";
  std::ranges::sort(numbers);
  if (numbers.size() > 2 && numbers.back() - numbers.front() + 1 == static_cast<int64_t>(numbers.size()))
    return std::to_string(numbers.front()) + "-" + std::to_string(numbers.back());
  const std::string list = base::Joined(numbers, ",");
  return list.size() <= kLongest
             ? list
             : std::to_string(numbers.size()) + " ranks from " + std::to_string(numbers.front());
}

std::string RankList(const Job& job, const std::vector<uint32_t>& ranks) {
  std::vector<int64_t> numbers;
  numbers.reserve(ranks.size());
  for (const uint32_t rank : ranks) numbers.push_back(job.ranks[rank].number);
  return NumberList(std::move(numbers));
}

std::string RanksName(const Job& job, const std::vector<uint32_t>& ranks) {
  return ranks.size() == 1 ? RankName(job.ranks[ranks.front()]) : "ranks " + RankList(job, ranks);
}

std::vector<uint32_t> AllSteps(const Context& context) {
  std::vector<uint32_t> steps;
  steps.reserve(context.steps());
  for (size_t step = context.first; step < context.job.steps.size(); ++step)
    steps.push_back(static_cast<uint32_t>(step));
  return steps;
}

std::string RankName(const Rank& rank) {
  return "rank " + std::to_string(rank.number) + " (" + (rank.node.empty() ? "" : rank.node + ", ") +
         "device " + std::to_string(rank.device) + ")";
}

Table TableOfMeans(const Context& context, std::string title, const std::vector<uint32_t>& ranks,
                   const std::vector<std::vector<double>>& values) {
  constexpr size_t kMost = 50;
  Table table{std::move(title), {"rank", "ms_per_step"}, {}};
  for (const uint32_t rank : ranks) {
    if (table.rows.size() == kMost) break;
    table.rows.push_back({context.job.ranks[rank].number, Mean(values[rank]) / 1e6});
  }
  return table;
}

Where WhereOf(const Rank& rank) {
  Where where;
  where.ranks = {rank.number};
  if (!rank.node.empty()) where.nodes = {rank.node};
  where.devices = {rank.device};
  return where;
}

Where WhereOf(const Job& job, const std::vector<uint32_t>& ranks) {
  Where where;
  std::set<std::string> nodes;
  for (const uint32_t rank : ranks) {
    where.ranks.push_back(job.ranks[rank].number);
    if (!job.ranks[rank].node.empty()) nodes.insert(job.ranks[rank].node);
  }
  where.nodes.assign(nodes.begin(), nodes.end());
  return where;
}

Finding Fact(const Job& job, std::string id, Severity severity, const std::vector<uint32_t>& ranks,
             const std::vector<bool>& hit) {
  Finding finding;
  finding.key = id + "/" + RankList(job, ranks);
  finding.id = std::move(id);
  finding.where = WhereOf(job, ranks);
  finding.severity = severity;
  finding.is_fact = true;
  finding.cost.method = Method::kNone;
  for (uint32_t step = 0; step < hit.size(); ++step) {
    if (hit[step]) finding.steps.push_back(step);
  }
  return finding;
}

std::string PercentOf(double part) {
  char text[16];
  std::snprintf(text, sizeof text, part < 0.1 ? "%.1f %%" : "%.0f %%", part * 100);
  return text;
}

std::string Times(double ratio) {
  char text[16];
  std::snprintf(text, sizeof text, "%.1f x", ratio);
  return text;
}

std::string Time(double ns) {
  char text[32];
  const double us = ns / 1000, ms = us / 1000;
  if (ms >= 10'000) {
    std::snprintf(text, sizeof text, "%.1f s", ms / 1000);
  } else if (ms >= 100) {
    std::snprintf(text, sizeof text, "%.0f ms", ms);
  } else if (ms >= 1) {
    std::snprintf(text, sizeof text, "%.1f ms", ms);
  } else {
    std::snprintf(text, sizeof text, "%.0f us", us);
  }
  return text;
}

}  // namespace profd::analyze
