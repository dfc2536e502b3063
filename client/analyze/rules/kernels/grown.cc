// What some steps compute more than others: other kernels, more of them, larger ones, or the same for longer.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 10;
constexpr double kHardly = 0.1;  // of the kernels that slow steps have: the others hardly run them

// Per rank and step.
struct Sums {
  double count = 0, ns = 0;
  double mean() const { return count > 0 ? ns / count : 0; }
};
struct OfClass {
  Sums slow, other;
  // That there are more, and that they take longer.
  double more() const { return (slow.count - other.count) * (other.count > 0 ? other.mean() : slow.mean()); }
  double longer() const { return other.count > 0 ? slow.count * (slow.mean() - other.mean()) : 0; }
};
struct OfType {
  double slow = 0, other = 0;  // kernels
  double added = 0, gone = 0;  // of shapes that slow steps have more of, and less
  double more = 0;             // ns
};

enum class How : uint8_t { kConverts, kOnlyThere, kShapes, kMore, kLonger };

How HowOf(std::string_view type, const OfType& of) {
  if (IsConversion(type)) return How::kConverts;
  if (of.other <= kHardly * of.slow) return How::kOnlyThere;
  return 2 * of.gone >= of.added ? How::kShapes : How::kMore;
}

std::vector<OfClass> ClassesOf(const Context& context, const std::vector<uint32_t>& slow) {
  std::vector<bool> is_slow(context.job.steps.size());
  for (const uint32_t step : slow) is_slow[step] = true;
  std::vector<OfClass> classes(context.job.classes.size());
  ForEachKernel(context, [&](const Rank& rank, const Task& task) {
    OfClass& of = classes[task.kind];
    Sums& sums = is_slow[context.StepOf(rank, task.step)] ? of.slow : of.other;
    ++sums.count;
    sums.ns += static_cast<double>(task.end - task.begin);
  });
  const auto ranks = static_cast<double>(context.job.ranks.size());
  const auto n = static_cast<double>(slow.size());
  const auto rest = static_cast<double>(context.steps()) - n;
  for (OfClass& of : classes) {
    of.slow = {of.slow.count / (n * ranks), of.slow.ns / (n * ranks)};
    of.other = {of.other.count / (rest * ranks), of.other.ns / (rest * ranks)};
  }
  return classes;
}

Table TableOf(const Context& context, const std::vector<OfClass>& classes) {
  const Job& job = context.job;
  Table table{"kernels of the slow steps and of the others, by rank and step",
              {"type", "shapes", "slow_count", "other_count", "slow_us", "other_us"},
              {}};
  std::vector<std::pair<double, uint32_t>> order;
  for (uint32_t kind = 0; kind < classes.size(); ++kind) {
    if (const double grows = classes[kind].slow.ns - classes[kind].other.ns; grows > 0)
      order.emplace_back(-grows, kind);
  }
  std::ranges::sort(order);
  order.resize(std::min(order.size(), kMostRows));
  for (const auto& [grows, kind] : order) {
    const OfClass& of = classes[kind];
    table.rows.push_back({std::string(job.Text(job.classes[kind].type)),
                          std::string(job.Text(job.classes[kind].shapes)), of.slow.count, of.other.count,
                          of.slow.ns / 1e3, of.other.ns / 1e3});
  }
  return table;
}

}  // namespace

Grown WhatGrown(const Context& context, const std::vector<uint32_t>& slow) {
  const Job& job = context.job;
  if (slow.empty() || slow.size() >= context.steps()) return {};
  const std::vector<OfClass> classes = ClassesOf(context, slow);
  std::map<TextId, OfType> types;
  double grows = 0, longer = 0, same = 0;
  for (uint32_t kind = 0; kind < classes.size(); ++kind) {
    const OfClass& of = classes[kind];
    OfType& type = types[job.classes[kind].type];
    type.slow += of.slow.count;
    type.other += of.other.count;
    (of.slow.count > of.other.count ? type.added : type.gone) += std::abs(of.slow.count - of.other.count);
    type.more += of.more();
    grows += of.slow.ns - of.other.ns;
    longer += of.longer();
    if (of.other.count > 0) same += of.slow.count * of.other.mean();
  }
  struct Part {
    double ns = 0, most = 0;
    TextId type = 0;  // that most of it is of
  };
  std::map<How, Part> parts;
  parts[How::kLonger].ns = longer;
  for (const auto& [type, of] : types) {
    if (of.slow <= 0) continue;
    Part& part = parts[HowOf(job.Text(type), of)];
    part.ns += of.more;
    if (of.more > part.most) part.most = of.more, part.type = type;
  }
  const auto& [how, part] =
      *std::ranges::max_element(parts, {}, [](const auto& one) { return one.second.ns; });
  if (grows <= 0 || 2 * part.ns < grows) return {};
  const std::string type(job.Text(part.type));
  Grown grown;
  grown.table = TableOf(context, classes);
  switch (how) {
    case How::kConverts:
      return {"data are converted, most by " + type, "kernel.transpose",
              "keep data in the format and type that those steps need", std::move(grown.table)};
    case How::kOnlyThere:
      return {"kernels run that do not run in others, most of type " + type, "rank.work",
              "see what runs them, and whether it can be done less often or for less",
              std::move(grown.table)};
    case How::kShapes:
      return {"kernels have other shapes, most those of type " + type, "rank.work",
              "give all steps data of about one size: sort samples by length, or pack them",
              std::move(grown.table)};
    case How::kMore:
      return {"more kernels run, most of type " + type, "rank.work",
              "see what runs them, and whether it can be done less often or for less",
              std::move(grown.table)};
    case How::kLonger:
      break;
  }
  return {"the same kernels take " + PercentOf(longer / std::max(1.0, same)) + " longer", "", "",
          std::move(grown.table)};
}

}  // namespace profd::analyze
