// Kernels by what they are.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <tuple>
#include <utility>

#include "client/analyze/tables/spread.h"
#include "client/analyze/tables/tables.h"

namespace profd::analyze {
namespace {

bool IsKernel(const Task& task) {
  return task.kind != kNone && (task.work == Work::kCompute || task.work == Work::kAiCpu);
}
const char* UnitOf(Work work) { return work == Work::kAiCpu ? "AI_CPU" : "AI_CORE"; }

// Tokens of a grouped matrix product: the first dimensions of its inputs but the last two, "8,4096;…".
int64_t TokensOf(std::string_view shapes) {
  std::vector<int64_t> first;
  while (!shapes.empty()) {
    while (!shapes.empty() && (shapes.front() == '"' || shapes.front() == ' ')) shapes.remove_prefix(1);
    int64_t number = 0;
    const auto [end, error] = std::from_chars(shapes.data(), shapes.data() + shapes.size(), number);
    first.push_back(error == std::errc() && number > 0 && number < int64_t{1} << 40 ? number : 0);
    const size_t next = shapes.find(';');
    shapes.remove_prefix(next == shapes.npos ? shapes.size() : next + 1);
  }
  int64_t tokens = 0;
  for (size_t i = 0; i + 2 < first.size(); ++i) tokens += first[i];
  return tokens;
}

}  // namespace

Table KernelsTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  // By type and unit, in their order.
  std::vector<std::array<size_t, 2>> of_classes(
      job.classes.size());  // [1]: on the AI CPU; how many, then key
  const auto place_of = [&of_classes](const Task& task) -> size_t& {
    return of_classes[task.kind][task.work == Work::kAiCpu];
  };
  for (const Rank& rank : job.ranks) {
    for (const Task& task : rank.tasks) {
      if (IsKernel(task)) ++place_of(task);
    }
  }
  std::map<std::pair<std::string_view, Work>, size_t> sorted;  // how many
  const auto for_each_class = [&](auto visit) {
    for (size_t kind = 0; kind < of_classes.size(); ++kind) {
      for (const Work work : {Work::kCompute, Work::kAiCpu}) {
        size_t& place = of_classes[kind][work == Work::kAiCpu];
        visit(std::pair(job.Text(job.classes[kind].type), work), place);
      }
    }
  };
  for_each_class([&](const auto& key, size_t count) {
    if (count > 0) sorted[key] += count;
  });
  std::vector<std::pair<std::string_view, Work>> keys;
  std::vector<size_t> counts;
  for (auto& [key, count] : sorted) {
    keys.push_back(key);
    counts.push_back(std::exchange(count, counts.size()));
  }
  for_each_class([&](const auto& key, size_t& place) {
    if (place > 0) place = sorted.at(key);
  });

  Table table{"kernels", WithSpread({"rank", "type", "unit"}), {}};
  const auto add = [&](const Cell& rank, size_t key, std::vector<Ns>& lengths) {
    std::vector<Cell>& row = table.rows.emplace_back(
        std::vector<Cell>{rank, std::string(keys[key].first), std::string(UnitOf(keys[key].second))});
    AddSpread(row, lengths);
  };
  const auto visit = [&](const Rank& rank, auto take) {
    for (const Task& task : rank.tasks) {
      if (IsKernel(task)) take(place_of(task), task.end - task.begin);
    }
  };
  InParts(
      counts,
      [&](auto take) {
        for (const Rank& rank : job.ranks) visit(rank, take);
      },
      [&](size_t key, std::vector<Ns>& lengths) { add(std::string("all"), key, lengths); });
  std::vector<std::vector<Ns>> own(keys.size());
  for (const Rank& rank : job.ranks) {
    visit(rank, [&own](size_t key, Ns length) { own[key].push_back(length); });
    for (size_t key = 0; key < own.size(); ++key) {
      if (!own[key].empty()) add(rank.number, key, own[key]);
      own[key].clear();
    }
  }
  return table;
}

Table KernelsByShapeTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  Table table{"kernels-by-shape", WithSpread({"rank", "name", "type", "unit", "shapes"}), {}};
  for (const Rank& rank : job.ranks) {
    std::map<std::pair<std::string_view, uint32_t>, std::vector<Ns>> lengths;
    // Of a class mostly one name.
    std::vector<std::pair<TextId, std::vector<Ns>*>> last(job.classes.size());
    for (const Task& task : rank.tasks) {
      if (!IsKernel(task)) continue;
      auto& [name, to] = last[task.kind];
      if (to == nullptr || name != task.name) {
        name = task.name;
        to = &lengths[{job.Text(name), task.kind}];
      }
      to->push_back(task.end - task.begin);
    }
    for (auto& [key, values] : lengths) {
      const auto& [name, kind] = key;
      std::vector<Cell> row{rank.number, std::string(name), std::string(job.Text(job.classes[kind].type)),
                            std::string(UnitOf(job.classes[kind].work)),
                            std::string(job.Text(job.classes[kind].shapes))};
      AddSpread(row, values);
      table.rows.push_back(std::move(row));
    }
  }
  return table;
}

Table ExpertsTable(const Analysis& analysis) {
  const Job& job = analysis.job();
  std::vector<int64_t> tokens(job.classes.size(), -1);
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (job.Text(job.classes[i].type).find("GroupedMatmul") != std::string_view::npos)
      tokens[i] = TokensOf(job.Text(job.classes[i].shapes));
  }
  Table table{"experts", {"rank", "step", "kernels", "tokens", "ms"}, {}};
  for (const Rank& rank : job.ranks) {
    struct Sum {
      int64_t kernels = 0, tokens = 0;
      Ns ns = 0;
    };
    std::map<uint32_t, Sum> sums;
    for (const Task& task : rank.tasks) {
      if (!IsKernel(task) || tokens[task.kind] < 0 || task.step == kNone) continue;
      Sum& of = sums[task.step];
      ++of.kernels;
      of.tokens += tokens[task.kind];
      of.ns += task.end - task.begin;
    }
    for (const auto& [step, of] : sums)
      table.rows.push_back(
          {rank.number, rank.steps[step].number, of.kernels, of.tokens, static_cast<double>(of.ns) / 1e6});
  }
  return table;
}

}  // namespace profd::analyze
