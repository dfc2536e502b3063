// Kernels that only bring data into another form: another format, order or type.
#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 20;

bool IsConversion(std::string_view type) {
  constexpr std::array<std::string_view, 6> kTypes = {"TransData", "Transpose", "TransposeD",
                                                      "Cast",      "CastD",     "FormatCast"};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// What a conversion stands between: types of kernels, 0 = none in its lane.
using Place = std::tuple<TextId, TextId, TextId>;  // its own, before, behind
struct Sum {
  int64_t count = 0;
  Ns ns = 0;
};
struct OfRank {
  uint32_t rank = 0;
  double share = 0;  // of its computing
  Ns ns = 0;
  std::vector<uint32_t> tasks;
  std::map<Place, Sum> places;
};

OfRank ConversionsOf(const Context& context, uint32_t r, const std::vector<bool>& is_conversion) {
  const Rank& rank = context.job.ranks[r];
  OfRank of{r, 0, 0, {}, {}};
  Ns computing = 0;
  struct Lane {
    TextId before = 0;            // type of the kernel before those that wait
    std::vector<uint32_t> waits;  // conversions whose next kernel is not known yet
  };
  std::vector<Lane> lanes(rank.lanes);
  const auto settle = [&](Lane& lane, TextId behind) {
    for (const uint32_t task : lane.waits) {
      Sum& sum = of.places[{context.job.classes[rank.tasks[task].kind].type, lane.before, behind}];
      ++sum.count;
      sum.ns += rank.tasks[task].end - rank.tasks[task].begin;
    }
    lane.waits.clear();
  };
  ForEachKernel(context, rank, [&](uint32_t i, const Task& task) {
    computing += task.end - task.begin;
    Lane& lane = lanes[task.lane];
    if (is_conversion[task.kind]) {
      of.ns += task.end - task.begin;
      of.tasks.push_back(i);
      lane.waits.push_back(i);
      return;
    }
    const TextId type = context.job.classes[task.kind].type;
    settle(lane, type);
    lane.before = type;
  });
  for (Lane& lane : lanes) settle(lane, 0);
  if (computing > 0) of.share = static_cast<double>(of.ns) / static_cast<double>(computing);
  return of;
}

}  // namespace

void FindConversions(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<bool> is_conversion;
  for (const KernelClass& of : job.classes)
    is_conversion.push_back(of.work == Work::kCompute && IsConversion(job.Text(of.type)));
  const double least = context.Get("kernel.conversion_percent") / 100;
  std::vector<OfRank> hit;
  std::vector<uint32_t> ranks;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    OfRank of = ConversionsOf(context, r, is_conversion);
    if (of.tasks.empty() || of.share < least) continue;
    ranks.push_back(r);
    hit.push_back(std::move(of));
  }
  if (hit.empty()) return;
  const OfRank& worst = *std::ranges::max_element(hit, {}, &OfRank::share);
  Finding finding;
  finding.id = "kernel.transpose";
  finding.key = "kernel.transpose/" + std::to_string(hit.size());
  finding.title =
      (hit.size() == 1 ? RankName(job.ranks[ranks.front()])
                       : std::to_string(hit.size()) + " of " + std::to_string(job.ranks.size()) + " ranks") +
      ": " + PercentOf(worst.share) + " of the computing only brings data into another format, order or type";
  finding.where = WhereOf(job, ranks);
  finding.steps = AllSteps(context);
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
    for (const OfRank& of : hit) {
      Lengths::OfRank& to = replay.Touch(lengths, of.rank);
      for (const uint32_t task : of.tasks) to.task[task] = 0;
    }
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
