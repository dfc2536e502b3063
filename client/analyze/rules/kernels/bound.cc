// Kernels that no pipe of their core limits: neither the computing units nor what moves data are busy.
#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 20;

// What a pipe reaches in kernels that are written well: above it the pipe is what limits the kernel.
struct Target {
  Pipe pipe;
  double part;
};
constexpr Target kCube[] = {{Pipe::kCube, 0.80}, {Pipe::kLoad, 0.95}};
constexpr Target kVector[] = {{Pipe::kVector, 0.70}, {Pipe::kLoad, 0.70}, {Pipe::kStore, 0.70}};
constexpr double kVectorSum = 0.90;  // of the three together: one goes on while the other waits
constexpr Target kAttention[] = {
    {Pipe::kLoad, 0.80}, {Pipe::kVector, 0.75}, {Pipe::kFixpipe, 0.75}, {Pipe::kCube, 0.80}};

struct Limit {
  Pipe pipe{};       // the one that is nearest to its target
  double ratio = 0;  // busy
  double target = 1;
  double room = 0;  // part of the kernel's time that a pipe at its target would save
};

std::span<const Target> TargetsOf(const KernelClass& of, std::string_view type) {
  if (type.find("Attention") != type.npos) return kAttention;
  return of.on_vector ? std::span<const Target>(kVector) : kCube;
}

// nullopt: its pipes were not counted.
std::optional<Limit> LimitOf(const KernelClass& of, std::string_view type, const PipeUse& use) {
  const std::span<const Target> targets = TargetsOf(of, type);
  Limit limit;
  double reached = 0, sum = 0;
  size_t known = 0;
  for (const auto& [pipe, target] : targets) {
    const double ratio = use.Busy(pipe);
    if (std::isnan(ratio)) continue;
    ++known;
    sum += ratio;
    if (ratio / target <= reached) continue;
    reached = ratio / target;
    limit.pipe = pipe;
    limit.ratio = ratio;
    limit.target = target;
  }
  if (known < 2) return std::nullopt;
  if (targets.data() == kVector) reached = std::max(reached, sum / kVectorSum);
  limit.room = std::clamp(1 - reached, 0.0, 1.0);
  return limit;
}

struct Sum {
  int64_t count = 0;
  double ns = 0;
  Limit limit;
};

}  // namespace

void FindUnboundKernels(const Context& context, Found& found) {
  const Job& job = context.job;
  if (job.pipes.empty()) {
    found.not_run.push_back({"kernel.bound",
                             "how busy the pipes of the cores were is not recorded: "
                             "--collect aicore-task,aivector-task, or --aic-metrics=PipeUtilization"});
    return;
  }
  std::vector<Sum> sums(job.classes.size());
  double computing = 0;
  ForEachKernel(context, [&](const Rank&, const Task& task) {
    const auto length = static_cast<double>(task.end - task.begin);
    computing += length;
    ++sums[task.kind].count;
    sums[task.kind].ns += length;
  });
  std::vector<uint32_t> kinds;
  for (uint32_t kind = 0; kind < sums.size() && kind < job.pipes.size(); ++kind) {
    Sum& sum = sums[kind];
    if (sum.count == 0 || sum.ns < context.Get("kernel.bound_percent") / 100 * computing ||
        sum.ns / static_cast<double>(sum.count) < context.Get("kernel.bound_us") * 1e3)
      continue;
    const KernelClass& of = job.classes[kind];
    const auto limit = LimitOf(of, job.Text(of.type), job.pipes[kind]);
    if (!limit || limit->room < context.Get("kernel.bound_room") / 100) continue;
    sum.limit = *limit;
    kinds.push_back(kind);
  }
  if (kinds.empty()) return;
  std::ranges::sort(kinds, std::greater(),
                    [&](uint32_t kind) { return sums[kind].ns * sums[kind].limit.room; });
  std::vector<bool> is_hit(sums.size());
  Table table{"kernels that no pipe limits",
              {"type", "shapes", "count", "total_ms", "mean_us", "busiest_pipe", "busy", "can_be", "room"},
              {}};
  for (const uint32_t kind : kinds) {
    const KernelClass& of = job.classes[kind];
    const Sum& sum = sums[kind];
    is_hit[kind] = sum.limit.room > 0;
    if (table.rows.size() < kMostRows)
      table.rows.push_back({std::string(job.Text(of.type)), std::string(job.Text(of.shapes)), sum.count,
                            sum.ns / 1e6, sum.ns / 1e3 / static_cast<double>(sum.count),
                            std::string(PipeName(sum.limit.pipe)), sum.limit.ratio, sum.limit.target,
                            sum.limit.room});
  }
  const Sum& worst = sums[kinds.front()];
  Finding finding;
  finding.id = "kernel.bound";
  finding.key = "kernel.bound";
  finding.title =
      std::string(job.Text(job.classes[kinds.front()].type)) +
      " is limited by no pipe of its core: the busiest, " + std::string(PipeName(worst.limit.pipe)) +
      ", works " + PercentOf(worst.limit.ratio) + " of its time" +
      (kinds.size() > 1 ? "; " + std::to_string(kinds.size() - 1) + " more kernels like that" : "");
  finding.steps = AllSteps(context);
  finding.evidence.push_back(std::move(table));
  finding.advice = {
      "look at its tiling: inner dimensions that are multiples of 256, head sizes and sequences that are "
      "multiples of 128, a format without conversion"};
  finding.cost.method = Method::kHeuristic;
  finding.factors = {
      {"method", 0.5, "up to: as if its busiest pipe reached what it does in kernels that are written well"}};
  const auto left = [sums](uint32_t kind, const Rank&) { return 1 - sums[kind].limit.room; };
  SetLess(context, std::move(is_hit), left, finding);
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
