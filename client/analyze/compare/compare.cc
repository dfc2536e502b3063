#include "client/analyze/compare/compare.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <functional>
#include <map>
#include <tuple>

#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

constexpr size_t kLeastSteps = 6;
constexpr size_t kLeastRuns = 3;
constexpr double kMs = 1e6;
constexpr size_t kMostRows = 50;
constexpr double kOtherWork = 20;  // percent of the kernels' time
constexpr double kAlike = 0.5;     // of the kernels' types, of ranks of one role

// By what is compared: runs, each with the mean of its steps, or all steps.
template <typename Of>
std::vector<double> Sample(const Runs& runs, bool runs_are_units, const Of& of) {
  std::vector<double> values;
  for (const auto& run : runs) {
    const std::vector<double> series = of(*run);
    if (runs_are_units) {
      values.push_back(Mean(series));
    } else {
      values.insert(values.end(), series.begin(), series.end());
    }
  }
  return values;
}

size_t MiddleOf(const Runs& runs) {
  std::vector<std::pair<double, size_t>> steps;
  for (size_t i = 0; i < runs.size(); ++i) steps.emplace_back(runs[i]->context().step_ns, i);
  std::ranges::sort(steps);
  return steps[(steps.size() - 1) / 2].second;
}

// Where kernels and collectives of a run are found.
struct Kinds {
  const std::vector<Kind>& (Run::*kinds)() const;
  const std::vector<Amount>& (Run::*of_rank)(size_t) const;
  std::vector<double> (Run::*series)(uint32_t) const;
};
constexpr Kinds kKernels{&Run::kinds, &Run::Kernels, &Run::KernelSeries};
constexpr Kinds kCollectives{&Run::collective_kinds, &Run::TransfersOf, &Run::TransferSeries};

// One side of a table: its kinds, how many of them a step and rank has, and what they take.
class Side {
 public:
  Side(const Kinds& table, const Runs& runs, bool runs_are_units)
      : table_(table), runs_(runs), runs_are_units_(runs_are_units) {
    for (size_t i = 0; i < runs.size(); ++i) {
      const Run& run = *runs[i];
      const std::vector<Kind>& kinds = (run.*table.kinds)();
      const double part = 1 / static_cast<double>(run.job().ranks.size() * runs.size());
      for (uint32_t kind = 0; kind < kinds.size(); ++kind) {
        Entry& entry = entries_[kinds[kind]];
        entry.numbers.resize(runs.size(), kNone);
        entry.numbers[i] = kind;
        for (size_t r = 0; r < run.job().ranks.size(); ++r) {
          const Amount& amount = (run.*table.of_rank)(r)[kind];
          entry.amount.ns += amount.ns * part;
          entry.amount.count += amount.count * part;
        }
      }
    }
    std::erase_if(entries_, [](const auto& entry) { return entry.second.amount.count == 0; });
  }

  Amount Of(const Kind& kind) const {
    const auto found = entries_.find(kind);
    return found == entries_.end() ? Amount{} : found->second.amount;
  }
  std::vector<double> Series(const Kind& kind) const {
    const auto found = entries_.find(kind);
    size_t i = 0;
    return Sample(runs_, runs_are_units_, [&](const Run& run) {
      const uint32_t number = found == entries_.end() ? kNone : found->second.numbers[i];
      ++i;
      if (number == kNone) return std::vector<double>(run.context().steps(), 0);
      std::vector<double> values = (run.*table_.series)(number);
      for (double& value : values) value /= kMs;
      return values;
    });
  }
  std::vector<Kind> All() const {
    std::vector<Kind> kinds;
    for (const auto& [kind, entry] : entries_) kinds.push_back(kind);
    return kinds;
  }

 private:
  struct Entry {
    Amount amount;
    std::vector<uint32_t> numbers;  // by run
  };
  const Kinds& table_;
  const Runs& runs_;
  const bool runs_are_units_;
  std::map<Kind, Entry> entries_;
};

// The same on both sides; of what has no like, those of one type and of about the same number, in the order
// of their time: the same call with other shapes.
std::vector<std::pair<Kind, Kind>> Pairs(const Side& base, const Side& now) {
  std::vector<std::pair<Kind, Kind>> pairs;
  std::map<std::pair<std::string, Work>, std::array<std::vector<Kind>, 2>> alone;
  for (const Kind& kind : base.All()) {
    if (now.Of(kind).count > 0) {
      pairs.emplace_back(kind, kind);
    } else {
      alone[{kind.type, kind.work}][0].push_back(kind);
    }
  }
  for (const Kind& kind : now.All()) {
    if (base.Of(kind).count == 0) alone[{kind.type, kind.work}][1].push_back(kind);
  }
  constexpr double kSameCount = 0.1;
  for (auto& [type, kinds] : alone) {
    std::ranges::sort(kinds[0], std::greater(), [&base](const Kind& kind) { return base.Of(kind).ns; });
    std::ranges::sort(kinds[1], std::greater(), [&now](const Kind& kind) { return now.Of(kind).ns; });
    for (const Kind& kind : kinds[0]) {
      const double count = base.Of(kind).count;
      const auto like = std::ranges::find_if(kinds[1], [&](const Kind& other) {
        return std::abs(now.Of(other).count - count) <= kSameCount * count;
      });
      pairs.emplace_back(kind, like == kinds[1].end() ? kind : *like);
      if (like != kinds[1].end()) kinds[1].erase(like);
    }
    for (const Kind& kind : kinds[1]) pairs.emplace_back(kind, kind);
  }
  return pairs;
}

std::vector<KindRow> CompareKinds(const Side& base, const Side& now, size_t least, double min_change,
                                  double* without_partner) {
  const std::vector<std::pair<Kind, Kind>> pairs = Pairs(base, now);
  std::vector<KindRow> rows;
  double all = 0, alone = 0;
  for (const auto& [kind, other] : pairs) {
    const Amount before = base.Of(kind), after = now.Of(other);
    all += before.ns + after.ns;
    if (kind != other || before.count == 0 || after.count == 0) alone += before.ns + after.ns;
    KindRow row;
    row.kind = kind;
    if (kind != other) row.new_shapes = other.shapes;
    row.base_count = before.count;
    row.new_count = after.count;
    row.base_us = before.each() / 1e3;
    row.new_us = after.each() / 1e3;
    row.difference = Judge(base.Series(kind), now.Series(other),
                           {std::min(pairs.size(), kMostRows), least, min_change / 100 * before.ns / kMs});
    rows.push_back(std::move(row));
  }
  *without_partner = all > 0 ? 100 * alone / all : 0;
  std::ranges::sort(rows, [](const KindRow& a, const KindRow& b) {
    const double one = std::abs(a.difference.change()), other = std::abs(b.difference.change());
    return std::tie(other, a.kind) < std::tie(one, b.kind);
  });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
  return rows;
}

// How much of the kernels two ranks have in common, by type and count.
double Alike(const Run& one, size_t r, const Run& other, size_t s) {
  std::map<std::string_view, std::pair<double, double>> counts;
  for (size_t i = 0; i < one.kinds().size(); ++i)
    counts[one.kinds()[i].type].first += one.Kernels(r)[i].count;
  for (size_t i = 0; i < other.kinds().size(); ++i)
    counts[other.kinds()[i].type].second += other.Kernels(s)[i].count;
  double both = 0, all = 0;
  for (const auto& [type, count] : counts) {
    both += std::min(count.first, count.second);
    all += std::max(count.first, count.second);
  }
  return all > 0 ? both / all : 1;
}

// Ranks by their places, where every rank has one of its own; else empty.
std::map<Run::Place, uint32_t> ByPlace(const Run& run) {
  std::map<Run::Place, uint32_t> ranks;
  for (uint32_t r = 0; r < run.job().ranks.size(); ++r) ranks.emplace(run.PlaceOf(r), r);
  return ranks.size() == run.job().ranks.size() && !ranks.contains({}) ? ranks
                                                                       : std::map<Run::Place, uint32_t>();
}

// What has to be known before the figures are read.
void Remark(const Runs& base, const Runs& now, Comparison& comparison) {
  const Run &before = *base[comparison.base], &after = *now[comparison.now];
  std::vector<std::string>& remarks = comparison.remarks;
  if (before.job().has_steps != after.job().has_steps)
    remarks.emplace_back(
        "one side has steps and the other has windows of time: their lengths cannot be compared");
  if (!before.job().has_steps && !after.job().has_steps)
    remarks.emplace_back("there are no steps, only windows of time, which do not show whether it got slower");
  if (comparison.without_partner > kOtherWork) {
    char text[160];
    std::snprintf(
        text, sizeof text,
        "the work differs: %.0f %% of the kernels' time is of shapes that the other side does not have "
        "(another batch or model?)",
        comparison.without_partner);
    remarks.emplace_back(text);
  }
  if (before.job().ranks.size() != after.job().ranks.size()) {
    remarks.push_back("different numbers of ranks, " + std::to_string(before.job().ranks.size()) + " and " +
                      std::to_string(after.job().ranks.size()) + ": means of ranks are compared");
  }
  if (!comparison.runs_are_units)
    remarks.emplace_back(
        "compared with the noise between steps, not between runs or nodes: that needs three runs of each "
        "side "
        "(--base, --new)");
  if (!comparison.waterfall.exact)
    remarks.emplace_back("ranks wait for each other crosswise: where the difference comes from is inexact");
}

}  // namespace

std::vector<std::vector<uint32_t>> Partners(const Run& base, const Run& now) {
  std::vector<std::vector<uint32_t>> partners(base.job().ranks.size());
  const std::map<Run::Place, uint32_t> places = ByPlace(base), there = ByPlace(now);
  const auto place = [](const auto& one) { return one.first; };
  if (!places.empty() && std::ranges::equal(places, there, {}, place, place)) {
    for (const auto& [at, rank] : places) partners[rank] = {there.at(at)};
    return partners;
  }
  std::vector<uint32_t> everybody(now.job().ranks.size());
  for (uint32_t i = 0; i < everybody.size(); ++i) everybody[i] = i;
  for (size_t i = 0; i < base.roles().size(); ++i) {
    const std::vector<uint32_t>& own = base.roles()[i];
    const std::vector<uint32_t>* best = nullptr;
    double most = kAlike;
    // Roles alike stand in the order of their ranks: the one at the same place goes first.
    for (size_t k = 0; k < now.roles().size(); ++k) {
      const size_t at = (i + k) % now.roles().size();
      const double alike = Alike(base, own.front(), now, now.roles()[at].front());
      if (alike > most) {
        most = alike;
        best = &now.roles()[at];
      }
    }
    for (size_t k = 0; k < own.size(); ++k) {
      if (best == nullptr) {
        partners[own[k]] = everybody;
      } else if (best->size() == own.size()) {
        partners[own[k]] = {(*best)[k]};
      } else {
        partners[own[k]] = *best;
      }
    }
  }
  return partners;
}

Comparison Compare(const Runs& base, const Runs& now, const CompareSettings& settings) {
  Comparison comparison;
  comparison.base = MiddleOf(base);
  comparison.now = MiddleOf(now);
  const Run &before = *base[comparison.base], &after = *now[comparison.now];
  const bool runs_are_units = std::min(base.size(), now.size()) >= kLeastRuns;
  comparison.runs_are_units = runs_are_units;
  const size_t least = runs_are_units ? kLeastRuns : kLeastSteps;
  for (size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Share>(i);
    const auto series = [part](const Run& run) { return run.Series(part); };
    const std::vector<double> one = Sample(base, runs_are_units, series),
                              other = Sample(now, runs_are_units, series);
    // A part of a step counts when it changes the step.
    const bool is_step = part == Share::kStep;
    const double least_change = is_step ? settings.min_change_percent / 100 * Mean(one)
                                        : settings.min_change_percent / 300 * comparison.parts.front().base;
    comparison.parts.push_back(Judge(one, other, {is_step ? 1 : kParts - 1, least, least_change}));
  }
  const auto compare = [&](const Kinds& table, double* without) {
    return CompareKinds(Side(table, base, runs_are_units), Side(table, now, runs_are_units), least,
                        settings.min_change_percent, without);
  };
  double unused = 0;
  comparison.kernels = compare(kKernels, &comparison.without_partner);
  comparison.collectives = compare(kCollectives, &unused);
  const std::vector<std::vector<uint32_t>> partners = Partners(before, after);
  for (size_t r = 0; r < partners.size(); ++r) {
    if (partners[r].size() != 1) continue;
    const size_t other = partners[r].front();
    comparison.ranks.push_back({before.job().ranks[r].number, after.job().ranks[other].number,
                                before.OfRank(r, Share::kCompute), after.OfRank(other, Share::kCompute),
                                before.OfRank(r, Share::kWaiting), after.OfRank(other, Share::kWaiting)});
  }
  std::ranges::stable_sort(comparison.ranks, [](const RankRow& a, const RankRow& b) {
    return std::abs(a.new_compute - a.base_compute) > std::abs(b.new_compute - b.base_compute);
  });
  comparison.has_verdict = comparison.parts.front().judgement != Judgement::kTooFew &&
                           before.job().has_steps && after.job().has_steps;
  comparison.waterfall = FallFrom(before, after, settings.jobs);
  Remark(base, now, comparison);
  return comparison;
}

}  // namespace profd::analyze
