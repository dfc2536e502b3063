// Kernels by what they are.
#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <map>
#include <tuple>

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
  using Key = std::pair<std::string_view, Work>;
  std::map<Key, std::vector<Ns>> all, own;
  std::vector<std::array<std::vector<Ns>*, 2>> places(job.classes.size());  // in `own`; [1]: on the AI CPU
  std::vector<std::vector<Cell>> of_ranks;
  const auto add = [](std::vector<std::vector<Cell>>& rows, const Cell& rank, const Key& key, auto& values) {
    std::vector<Cell>& row =
        rows.emplace_back(std::vector<Cell>{rank, std::string(key.first), std::string(UnitOf(key.second))});
    AddSpread(row, values);
  };
  for (const Rank& rank : job.ranks) {
    for (const Task& task : rank.tasks) {
      if (!IsKernel(task)) continue;
      std::vector<Ns>*& place = places[task.kind][task.work == Work::kAiCpu];
      if (place == nullptr) place = &own[{job.Text(job.classes[task.kind].type), task.work}];
      place->push_back(task.end - task.begin);
    }
    for (auto& [key, values] : own) {
      if (values.empty()) continue;
      add(of_ranks, rank.number, key, values);
      std::vector<Ns>& to = all[key];
      to.insert(to.end(), values.begin(), values.end());
      values.clear();
    }
  }
  Table table{"kernels", WithSpread({"rank", "type", "unit"}), {}};
  for (auto& [key, values] : all) add(table.rows, std::string("all"), key, values);
  std::ranges::move(of_ranks, std::back_inserter(table.rows));
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
