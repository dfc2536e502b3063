// Memory of devices that grows from step to step.
#include <algorithm>
#include <cstdio>
#include <map>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kBins = 10;
constexpr double kMostlyRises = 0.8;
constexpr double kMb = 1e6;

// Bytes a step, by the medians of bins; 0: it does not grow all the time.
double SlopeOf(const std::vector<std::pair<double, double>>& points) {
  std::vector<double> at, bytes;
  for (size_t bin = 0; bin < kBins; ++bin) {
    std::vector<double> x, y;
    for (size_t i = bin * points.size() / kBins; i < (bin + 1) * points.size() / kBins; ++i) {
      x.push_back(points[i].first);
      y.push_back(points[i].second);
    }
    if (x.empty()) return 0;
    at.push_back(Median(std::move(x)));
    bytes.push_back(Median(std::move(y)));
  }
  size_t rises = 0;
  for (size_t i = 1; i < kBins; ++i) rises += bytes[i] > bytes[i - 1];
  if (static_cast<double>(rises) < kMostlyRises * (kBins - 1)) return 0;
  std::vector<double> slopes;
  for (size_t i = 0; i < kBins; ++i) {
    for (size_t j = i + 1; j < kBins; ++j) {
      if (at[j] > at[i]) slopes.push_back((bytes[j] - bytes[i]) / (at[j] - at[i]));
    }
  }
  return Median(std::move(slopes));
}

}  // namespace

void FindLeaks(const Context& context, Found& found) {
  const Job& job = context.job;
  if (std::ranges::all_of(job.ranks, [](const Rank& rank) { return rank.memory.empty(); })) {
    found.not_run.push_back(
        {"mem.leak", "no memory of devices by owner is recorded (--collect npu-module-mem)"});
    return;
  }
  if (!job.has_steps || static_cast<double>(context.steps()) < context.Get("memory.min_steps")) return;
  std::map<TextId, std::vector<std::pair<double, uint32_t>>> owners;  // MB in 100 steps, rank
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Rank& rank = job.ranks[r];
    std::map<TextId, std::map<uint32_t, double>> by_step;  // the most in each step
    size_t at = 0;
    for (const MemoryLook& look : rank.memory) {
      while (at < rank.steps.size() && rank.steps[at].end <= look.at) ++at;
      if (at >= rank.steps.size() || look.at < rank.steps[at].begin) continue;
      const uint32_t step = context.StepOf(rank, static_cast<uint32_t>(at));
      if (step == kNone) continue;
      double& most = by_step[look.owner][step];
      most = std::max(most, look.bytes);
    }
    for (const auto& [owner, series] : by_step) {
      if (series.size() < kBins) continue;
      const std::vector<std::pair<double, double>> points(series.begin(), series.end());
      const double mb = 100 * SlopeOf(points) / kMb;
      if (mb >= context.Get("memory.leak_mb")) owners[owner].emplace_back(mb, r);
    }
  }
  for (const auto& [owner, ranks] : owners) {
    Finding finding;
    finding.id = "mem.leak";
    const std::string name(job.Text(owner));
    finding.key = "mem.leak/" + name;
    Table table{"memory that grows", {"rank", "owner", "mb_in_100_steps"}, {}};
    double most = 0;
    for (const auto& [mb, r] : ranks) {
      finding.where.ranks.push_back(job.ranks[r].number);
      most = std::max(most, mb);
      if (table.rows.size() < 50) table.rows.push_back({job.ranks[r].number, name, mb});
    }
    char text[32];
    std::snprintf(text, sizeof text, "%.0f MB", most);
    finding.title = (ranks.size() == 1 ? RankName(job.ranks[ranks.front().second])
                                       : std::to_string(ranks.size()) + " ranks") +
                    ": memory of " + name + " grows by " + text + " in 100 steps";
    finding.severity = Severity::kMajor;
    finding.is_fact = true;
    finding.cost.method = Method::kNone;
    for (size_t step = context.first; step < job.steps.size(); ++step)
      finding.steps.push_back(static_cast<uint32_t>(step));
    finding.evidence.push_back(std::move(table));
    finding.advice = {"look at what " + name + " holds at a step's end that the next one does not need"};
    finding.factors = {{"record", 0.9, "it rises all the time"}};
    found.findings.push_back(std::move(finding));
  }
}

namespace {

const Allocator* FragmentOf(const Context& context, const Rank& rank) {
  const Allocator* worst = nullptr;
  for (const Allocator& of : rank.allocators) {
    const double rest = of.held - of.used;
    if (rest < context.Get("memory.fragment_percent") / 100 * of.held ||
        rest < context.Get("memory.fragment_mb") * kMb)
      continue;
    if (worst == nullptr || rest > worst->held - worst->used) worst = &of;
  }
  return worst;
}

Table FragmentTable() {
  return {"memory that is held and not in use, when most of it is in use",
          {"rank", "allocator", "at_ns", "held_mb", "used_mb"},
          {}};
}
void AddRow(const Context& context, const Rank& rank, const Allocator& of, Table& table) {
  if (table.rows.size() < 50)
    table.rows.push_back(
        {rank.number, std::string(context.job.Text(of.owner)), of.at, of.held / kMb, of.used / kMb});
}
constexpr const char* kUnfragment =
    "set PYTORCH_NPU_ALLOC_CONF=expandable_segments:True, or allocate tensors of fewer sizes";

}  // namespace

bool AddFragments(const Context& context, const Rank& rank, Finding& finding) {
  const Allocator* of = FragmentOf(context, rank);
  if (of == nullptr) return false;
  Table table = FragmentTable();
  AddRow(context, rank, *of, table);
  finding.causes.push_back({"mem.fragment", (of->held - of->used) / of->held});
  finding.evidence.push_back(std::move(table));
  return true;
}

void FindFragments(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<uint32_t> ranks;
  Table table = FragmentTable();
  double most = 0;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    const Allocator* of = FragmentOf(context, job.ranks[r]);
    if (of == nullptr) continue;
    ranks.push_back(r);
    most = std::max(most, (of->held - of->used) / of->held);
    AddRow(context, job.ranks[r], *of, table);
  }
  if (ranks.empty()) return;
  Finding finding;
  finding.id = "mem.fragment";
  finding.key = "mem.fragment/" + RankList(job, ranks);
  finding.title = RanksName(job, ranks) + ": " + PercentOf(most) +
                  " of the memory that the framework holds is in pieces nobody uses";
  finding.where = WhereOf(job, ranks);
  finding.severity = Severity::kInfo;
  finding.is_fact = true;
  finding.cost.method = Method::kNone;
  finding.steps = AllSteps(context);
  finding.evidence.push_back(std::move(table));
  finding.advice = {kUnfragment};
  finding.factors = {{"record", 0.6, "it may have been in use before the recording began"}};
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
