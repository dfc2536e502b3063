// Kernels that only bring data into another form: another format, order or type.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 20;
constexpr ptrdiff_t kFewSteps = 3;

// What a conversion stands between: types of kernels, 0 = none in its lane.
using Place = std::tuple<TextId, TextId, TextId>;  // its own, before, behind
struct Sum {
  int64_t count = 0;
  Ns ns = 0;
};
struct OfRank {
  uint32_t rank = 0;
  double share = 0;  // of its computing, in steps that have conversions
  Ns ns = 0;
  std::vector<std::pair<uint32_t, Ns>> tasks;  // and what each takes, as such kernels do
  std::map<Place, Sum> places;
};

// By class of conversions, how long one of them takes at most; one that hangs takes longer, and that is no
// cost of converting.
std::vector<Ns> MostOf(const Context& context, const std::vector<bool>& is_conversion) {
  constexpr double kMostRatio = 3;
  constexpr size_t kFew = 3;
  std::vector<std::vector<Ns>> lengths(is_conversion.size());
  ForEachKernel(context, [&](const Rank&, const Task& task) {
    if (is_conversion[task.kind]) lengths[task.kind].push_back(task.end - task.begin);
  });
  std::vector<Ns> most;
  for (std::vector<Ns>& of : lengths) {
    const double usual = of.size() < kFew ? static_cast<double>(Early(of)) : Median(of);
    most.push_back(static_cast<Ns>(kMostRatio * usual));
  }
  return most;
}

OfRank ConversionsOf(const Context& context, uint32_t r, const std::vector<bool>& is_conversion,
                     const std::vector<Ns>& most) {
  const Rank& rank = context.job.ranks[r];
  OfRank of{r, 0, 0, {}, {}};
  std::vector<Ns> computing(context.steps());  // by step
  std::vector<bool> converts(context.steps());
  const auto length_of = [&](const Task& task) {
    const Ns length = task.end - task.begin;
    return is_conversion[task.kind] ? std::min(length, most[task.kind]) : length;
  };
  struct Lane {
    TextId before = 0;            // type of the kernel before those that wait
    std::vector<uint32_t> waits;  // conversions whose next kernel is not known yet
  };
  std::vector<Lane> lanes(rank.lanes);
  const auto settle = [&](Lane& lane, TextId behind) {
    for (const uint32_t task : lane.waits) {
      Sum& sum = of.places[{context.job.classes[rank.tasks[task].kind].type, lane.before, behind}];
      ++sum.count;
      sum.ns += length_of(rank.tasks[task]);
    }
    lane.waits.clear();
  };
  ForEachKernel(context, rank, [&](uint32_t i, const Task& task) {
    const size_t step = context.StepOf(rank, task.step) - context.first;
    computing[step] += length_of(task);
    Lane& lane = lanes[task.lane];
    if (is_conversion[task.kind]) {
      converts[step] = true;
      of.ns += length_of(task);
      of.tasks.emplace_back(i, length_of(task));
      lane.waits.push_back(i);
      return;
    }
    const TextId type = context.job.classes[task.kind].type;
    settle(lane, type);
    lane.before = type;
  });
  for (Lane& lane : lanes) settle(lane, 0);
  // Of the steps that have any, where these are not just one or two.
  const bool counts = std::ranges::count(converts, true) >= kFewSteps;
  Ns all = 0;
  for (size_t i = 0; i < computing.size(); ++i) all += !counts || converts[i] ? computing[i] : 0;
  if (all > 0) of.share = static_cast<double>(of.ns) / static_cast<double>(all);
  return of;
}

}  // namespace

bool IsConversion(std::string_view type) {
  constexpr std::array<std::string_view, 6> kTypes = {"TransData", "Transpose", "TransposeD",
                                                      "Cast",      "CastD",     "FormatCast"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

void FindConversions(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<bool> is_conversion;
  for (const KernelClass& of : job.classes)
    is_conversion.push_back(of.work == Work::kCompute && IsConversion(job.Text(of.type)));
  const double least = context.Get("kernel.conversion_percent") / 100;
  const std::vector<Ns> most = MostOf(context, is_conversion);
  std::vector<OfRank> hit;
  std::vector<uint32_t> ranks;
  std::set<uint32_t> steps;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    OfRank of = ConversionsOf(context, r, is_conversion, most);
    if (of.tasks.empty() || of.share < least) continue;
    ranks.push_back(r);
    for (const auto& [task, ns] : of.tasks)
      steps.insert(context.StepOf(job.ranks[r], job.ranks[r].tasks[task].step));
    hit.push_back(std::move(of));
  }
  if (hit.empty()) return;
  const OfRank& worst = *std::ranges::max_element(hit, {}, &OfRank::share);
  Finding finding;
  finding.id = "kernel.transpose";
  finding.key = "kernel.transpose/" + std::to_string(hit.size());
  const std::string when =
      steps.size() < context.steps() ? " of " + std::to_string(steps.size()) + " steps" : std::string();
  finding.title =
      (hit.size() == 1 ? RankName(job.ranks[ranks.front()])
                       : std::to_string(hit.size()) + " of " + std::to_string(job.ranks.size()) + " ranks") +
      ": " + PercentOf(worst.share) + " of the computing" + when +
      " only brings data into another format, order or type";
  finding.where = WhereOf(job, ranks);
  finding.steps.assign(steps.begin(), steps.end());
  Table table{"conversions, on rank " + std::to_string(job.ranks[worst.rank].number),
              {"type", "behind", "in_front_of", "count", "total_ms", "mean_us"},
              {}};
  std::vector<std::pair<Ns, Place>> order;
  for (const auto& [place, sum] : worst.places) order.emplace_back(-sum.ns, place);
  std::ranges::sort(order);
  order.resize(std::min(order.size(), kMostRows));
  for (const auto& [ns, place] : order) {
    const Sum& sum = worst.places.at(place);
    const auto& [type, before, behind] = place;
    table.rows.push_back({std::string(job.Text(type)), std::string(job.Text(before)),
                          std::string(job.Text(behind)), sum.count, static_cast<double>(sum.ns) / 1e6,
                          static_cast<double>(sum.ns) / 1e3 / static_cast<double>(sum.count)});
  }
  finding.evidence.push_back(std::move(table));
  finding.advice = {
      "give both neighbours data of one format and type: keep weights in the format that their kernels "
      "take, compute in one precision, make tensors contiguous once"};
  finding.cost.method = Method::kHeuristic;
  finding.factors = {{"method", 0.6, "an upper bound: some conversions a model needs"}};
  finding.without = [hit = std::move(hit)](const Replay& replay, Lengths& lengths) {
    for (const OfRank& of : hit) Shorten(replay, lengths, of.rank, of.tasks);
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
