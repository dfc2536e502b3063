// Kernels by the ranges of the program that launched them, and what they compute against what a device can.
#include <algorithm>
#include <charconv>
#include <map>
#include <tuple>

#include "client/analyze/model/range_names.h"
#include "client/analyze/tables/tables.h"

namespace profd::analyze {
namespace {

constexpr size_t kDeepest = 20;

bool IsModule(const Job& job, const Range& range) {
  return range.kind == RangeKind::kUser ||
         (range.kind == RangeKind::kFramework && job.Text(range.name).starts_with(kModule));
}

// Ranges that `wants`, and which of them is the innermost around each kernel's launch; kNone: none is.
struct Owned {
  std::vector<uint32_t> parents;  // by range of the rank, kNone = outermost or not wanted
  std::vector<uint32_t> owners;   // by task
};
template <typename Wants>
Owned OwnersOf(const Rank& rank, Wants wants) {
  Owned owned;
  owned.parents.assign(rank.ranges.size(), kNone);
  owned.owners.assign(rank.tasks.size(), kNone);
  struct Event {
    Ns at = 0;
    uint32_t range = 0, task = kNone;
  };
  std::map<uint64_t, std::vector<Event>> threads;
  for (uint32_t i = 0; i < rank.ranges.size(); ++i) {
    if (wants(rank.ranges[i])) threads[rank.ranges[i].thread].push_back({rank.ranges[i].begin, i, kNone});
  }
  for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
    if (rank.tasks[i].launch == kNone || rank.tasks[i].work == Work::kCollective) continue;
    const Call& call = rank.calls[rank.tasks[i].launch];
    if (const auto thread = threads.find(rank.ThreadOf(call)); thread != threads.end())
      thread->second.push_back({call.begin, 0, i});
  }
  for (auto& [thread, events] : threads) {
    // What begins with a range is in it; of ranges that begin together the longer one is around the other.
    std::ranges::stable_sort(events, {}, [&](const Event& event) {
      return std::tuple(event.at, event.task != kNone,
                        event.task != kNone ? 0 : -rank.ranges[event.range].end);
    });
    std::vector<uint32_t> open;
    for (const Event& event : events) {
      while (!open.empty() && rank.ranges[open.back()].end <= event.at) open.pop_back();
      const uint32_t inside = open.empty() ? kNone : open.back();
      if (event.task != kNone) {
        owned.owners[event.task] = inside;
      } else {
        owned.parents[event.range] = inside;
        open.push_back(event.range);
      }
    }
  }
  return owned;
}

std::string PathOf(const Job& job, const Rank& rank, const Owned& owned, uint32_t range) {
  std::string path;
  size_t depth = 0;
  for (; range != kNone && depth < kDeepest; range = owned.parents[range], ++depth) {
    std::string_view name = job.Text(rank.ranges[range].name);
    if (name.starts_with(kModule)) name.remove_prefix(kModule.size());
    path = std::string(name) + (path.empty() ? "" : "/" + path);
  }
  return path;
}

}  // namespace

Table ModulesTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  Table table{"modules", {"rank", "module", "times", "kernels", "kernel_ms", "mean_us", "host_ms"}, {}};
  for (const Rank& rank : job.ranks) {
    const Owned owned = OwnersOf(rank, [&](const Range& range) { return IsModule(job, range); });
    struct Sum {
      int64_t times = 0, kernels = 0;
      Ns kernel = 0, host = 0;
    };
    std::map<std::string, Sum> sums;
    std::vector<Sum*> of_range(rank.ranges.size(), nullptr);
    for (uint32_t i = 0; i < rank.ranges.size(); ++i) {
      if (!IsModule(job, rank.ranges[i])) continue;
      Sum& sum = sums[PathOf(job, rank, owned, i)];
      of_range[i] = &sum;
      ++sum.times;
      sum.host += rank.ranges[i].end - rank.ranges[i].begin;
    }
    for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
      // A kernel is of all the modules around it.
      for (uint32_t range = owned.owners[i]; range != kNone; range = owned.parents[range]) {
        ++of_range[range]->kernels;
        of_range[range]->kernel += rank.tasks[i].end - rank.tasks[i].begin;
      }
    }
    for (const auto& [path, sum] : sums) {
      table.rows.push_back(
          {rank.number, path, sum.times, sum.kernels, static_cast<double>(sum.kernel) / 1e6,
           sum.kernels > 0 ? static_cast<double>(sum.kernel) / 1e3 / static_cast<double>(sum.kernels) : 0.0,
           static_cast<double>(sum.host) / 1e6});
    }
  }
  return table;
}

namespace {

// "4096,1024;1024,512" → the sizes of the first two inputs.
std::vector<std::vector<double>> SizesOf(std::string_view shapes) {
  std::vector<std::vector<double>> inputs(1);
  for (size_t at = 0; at < shapes.size();) {
    if (shapes[at] >= '0' && shapes[at] <= '9') {
      double value = 0;
      const auto [end, error] = std::from_chars(shapes.data() + at, shapes.data() + shapes.size(), value);
      inputs.back().push_back(value);
      at = static_cast<size_t>(end - shapes.data());
      continue;
    }
    if (shapes[at] == ';') inputs.emplace_back();
    ++at;
  }
  return inputs;
}

// Operations of a matrix product of two inputs, the dimension that both have counted once; 0: not known.
double OperationsOf(std::string_view type, std::string_view shapes) {
  if (type.find("MatMul") == type.npos && type.find("Matmul") == type.npos) return 0;
  if (type.find("Grouped") != type.npos) return 0;  // which tokens are whose is not in the shapes
  const auto inputs = SizesOf(shapes);
  if (inputs.size() < 2 || inputs[0].size() < 2 || inputs[1].size() < 2) return 0;
  const std::vector<double>&a = inputs[0], &b = inputs[1];
  double batches = 1;
  for (size_t i = 0; i + 2 < a.size(); ++i) batches *= a[i];
  const double a0 = a[a.size() - 2], a1 = a.back(), b0 = b[b.size() - 2], b1 = b.back();
  // As it is; then with the second, the first, both transposed.
  if (a1 == b0) return 2 * batches * a0 * a1 * b1;
  if (a1 == b1) return 2 * batches * a0 * a1 * b0;
  if (a0 == b0) return 2 * batches * a1 * a0 * b1;
  if (a0 == b1) return 2 * batches * a1 * a0 * b0;
  return 0;
}

}  // namespace

Table MfuTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  // Multiplications and additions of 16 × 16 by 16 × 16 numbers of 16 bits: a core's, of a cycle.
  constexpr double kPerCycle = 16.0 * 16 * 16 * 2;
  Table table{
      "mfu",
      {"rank", "of", "name", "shapes", "count", "gigaoperations", "kernel_ms", "peak_tera_per_s", "mfu"},
      {}};
  for (const Rank& rank : job.ranks) {
    const double peak = rank.cores * rank.rated_mhz * 1e6 * kPerCycle;
    const auto add = [&](const char* of, std::string_view name, std::string_view shapes, int64_t count,
                         double operations, Ns ns) {
      if (ns <= 0 || operations <= 0) return;
      const double rate = operations / (static_cast<double>(ns) / 1e9);
      table.rows.push_back({rank.number, std::string(of), std::string(name), std::string(shapes), count,
                            operations / 1e9, static_cast<double>(ns) / 1e6, peak / 1e12,
                            peak > 0 ? rate / peak : 0.0});
    };
    struct Sum {
      int64_t count = 0;
      double operations = 0;
      Ns ns = 0;
    };
    std::map<uint32_t, Sum> kernels;
    for (const Task& task : rank.tasks) {
      if (task.work != Work::kCompute || task.kind == kNone) continue;
      Sum& sum = kernels[task.kind];
      ++sum.count;
      sum.ns += task.end - task.begin;
    }
    for (const auto& [kind, sum] : kernels) {
      const std::string_view type = job.Text(job.classes[kind].type),
                             shapes = job.Text(job.classes[kind].shapes);
      add("kernel", type, shapes, sum.count, static_cast<double>(sum.count) * OperationsOf(type, shapes),
          sum.ns);
    }
    // Of a range its kernels together: what each of them did it does not say.
    const Owned owned = OwnersOf(
        rank, [&](const Range& range) { return OperationsOfRange(job.Text(range.name)).has_value(); });
    std::map<TextId, Sum> ranges;
    for (const Range& range : rank.ranges) {
      if (const auto operations = OperationsOfRange(job.Text(range.name))) {
        ++ranges[range.name].count;
        ranges[range.name].operations += *operations;
      }
    }
    for (uint32_t i = 0; i < rank.tasks.size(); ++i) {
      if (owned.owners[i] != kNone)
        ranges[rank.ranges[owned.owners[i]].name].ns += rank.tasks[i].end - rank.tasks[i].begin;
    }
    for (const auto& [name, sum] : ranges)
      add("range", job.Text(name), "", sum.count, sum.operations, sum.ns);
  }
  return table;
}

}  // namespace profd::analyze
