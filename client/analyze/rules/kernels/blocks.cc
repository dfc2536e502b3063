// Kernels that run in fewer blocks than there are cores, or in a few more: cores have nothing to do
// meanwhile.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 20;

// Those that its blocks run on; 0 if nobody knows.
int CoresOf(const KernelClass& of, const Rank& rank) { return of.on_vector ? rank.vector_cores : rank.cores; }

// The share of the cores' time that so many blocks use; 1 if nobody knows.
double UsedOf(const KernelClass& of, const Rank& rank) {
  const int cores = CoresOf(of, rank);
  if (of.blocks == 0 || cores <= 0) return 1;
  const double waves = std::ceil(static_cast<double>(of.blocks) / cores);
  return of.blocks / (waves * cores);
}

struct Sum {
  int64_t count = 0;
  double ns = 0, idle_ns = 0;
  int cores = 0;
};

}  // namespace

void FindIdleCores(const Context& context, Found& found) {
  const Job& job = context.job;
  std::vector<Sum> sums(job.classes.size());
  double computing = 0;
  bool is_known = false;
  ForEachKernel(context, [&](const Rank& rank, const Task& task) {
    const auto length = static_cast<double>(task.end - task.begin);
    computing += length;
    const KernelClass& of = job.classes[task.kind];
    const int cores = CoresOf(of, rank);
    if (of.blocks == 0 || cores <= 0) return;
    is_known = true;
    Sum& sum = sums[task.kind];
    ++sum.count;
    sum.ns += length;
    sum.idle_ns += length * (1 - UsedOf(of, rank));
    sum.cores = cores;
  });
  if (!is_known) {
    found.not_run.push_back(
        {"kernel.blocks", "the blocks of kernels, or the cores of their device, are not recorded"});
    return;
  }
  const double most_used = 1 / context.Get("kernel.blocks_ratio");
  std::vector<uint32_t> kinds;
  for (uint32_t kind = 0; kind < sums.size(); ++kind) {
    const Sum& sum = sums[kind];
    if (sum.count == 0 || sum.ns < context.Get("kernel.blocks_percent") / 100 * computing ||
        sum.ns / static_cast<double>(sum.count) < context.Get("kernel.blocks_us") * 1e3 ||
        1 - sum.idle_ns / sum.ns > most_used)
      continue;
    kinds.push_back(kind);
  }
  if (kinds.empty()) return;
  std::ranges::sort(kinds, std::greater(), [&](uint32_t kind) { return sums[kind].idle_ns; });
  std::vector<bool> is_hit(sums.size());
  Table table{"kernels that leave cores idle",
              {"type", "shapes", "blocks", "cores", "count", "total_ms", "mean_us", "idle_share"},
              {}};
  for (const uint32_t kind : kinds) {
    is_hit[kind] = true;
    const KernelClass& of = job.classes[kind];
    const Sum& sum = sums[kind];
    if (table.rows.size() < kMostRows)
      table.rows.push_back({std::string(job.Text(of.type)), std::string(job.Text(of.shapes)),
                            int64_t{of.blocks}, int64_t{sum.cores}, sum.count, sum.ns / 1e6,
                            sum.ns / 1e3 / static_cast<double>(sum.count), sum.idle_ns / sum.ns});
  }
  const KernelClass& worst = job.classes[kinds.front()];
  Finding finding;
  finding.id = "kernel.blocks";
  finding.key = "kernel.blocks";
  finding.title =
      std::string(job.Text(worst.type)) + " runs in " + std::to_string(worst.blocks) + " blocks on " +
      std::to_string(sums[kinds.front()].cores) + (worst.on_vector ? " vector cores" : " cores") +
      (kinds.size() > 1 ? ", and " + std::to_string(kinds.size() - 1) + " more kernels leave cores idle"
                        : "");
  finding.steps = AllSteps(context);
  finding.evidence.push_back(std::move(table));
  finding.advice = {"split it finer: another tiling, a larger batch, or dimensions that divide by the cores"};
  finding.cost.method = Method::kHeuristic;
  finding.factors = {{"method", 0.6, "up to: as if its blocks could be spread over all cores"}};
  const auto left = [&job](uint32_t kind, const Rank& rank) { return UsedOf(job.classes[kind], rank); };
  SetLess(context, std::move(is_hit), left, finding);
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
