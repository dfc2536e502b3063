#include "client/analyze/compare/compare.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

constexpr size_t kLeastSteps = 6;
constexpr size_t kLeastRuns = 3;
constexpr double kMs = 1e6;
constexpr double kLevel = 0.05;
constexpr double kSameBlock = 0.2;  // autocorrelation of steps that have nothing to do with each other
constexpr size_t kMostRows = 50;
constexpr double kOtherWork = 20;  // percent of the kernels' time
constexpr double kAlike = 0.5;     // of the kernels' types, of ranks of one role

double Autocorrelation(const std::vector<double>& values, size_t lag) {
  const double mean = Mean(values);
  double sum = 0, all = 0;
  for (size_t i = 0; i < values.size(); ++i) {
    all += (values[i] - mean) * (values[i] - mean);
    if (i >= lag) sum += (values[i] - mean) * (values[i - lag] - mean);
  }
  return all > 0 ? sum / all : 0;
}

// Variance of the mean of a series whose neighbours may have to do with each other: that of a bootstrap of
// moving blocks, which has a closed form.
double VarianceOfMean(const std::vector<double>& values) {
  const size_t n = values.size();
  if (n < 2) return 0;
  size_t block = 1;
  while (block < n / 3 && Autocorrelation(values, block) >= kSameBlock) ++block;
  std::vector<double> sums;
  for (size_t from = 0; from + block <= n; ++from) {
    double sum = 0;
    for (size_t i = from; i < from + block; ++i) sum += values[i];
    sums.push_back(sum);
  }
  const double mean = Mean(sums);
  double spread = 0;
  for (const double sum : sums) spread += (sum - mean) * (sum - mean);
  spread /= static_cast<double>(std::max<size_t>(sums.size() - 1, 1));
  return spread / static_cast<double>(block) / static_cast<double>(n);
}

// Of Student's distribution, both tails together `level`: from the normal one's by Cornish and Fisher
// (Abramowitz and Stegun 26.7.5, 26.2.23).
double StudentQuantile(double level, double freedom) {
  const double t = std::sqrt(-2 * std::log(level / 2));
  const double z = t - (2.515517 + 0.802853 * t + 0.010328 * t * t) /
                           (1 + 1.432788 * t + 0.189269 * t * t + 0.001308 * t * t * t);
  const double z3 = z * z * z, z5 = z3 * z * z;
  return z + (z3 + z) / (4 * freedom) + (5 * z5 + 16 * z3 + 3 * z) / (96 * freedom * freedom) +
         (3 * z5 * z * z + 19 * z5 + 17 * z3 - 15 * z) / (384 * freedom * freedom * freedom);
}

Difference Judge(const std::vector<double>& base, const std::vector<double>& now, size_t rows, size_t least,
                 double min_change_percent, double of) {
  Difference difference;
  difference.base = Mean(base);
  difference.now = Mean(now);
  const size_t few = std::min(base.size(), now.size());
  if (few < 2) {
    difference.judgement = Judgement::kTooFew;
    difference.low = difference.high = difference.change();
    return difference;
  }
  const double error = std::sqrt(VarianceOfMean(base) + VarianceOfMean(now));
  const double width = error * StudentQuantile(kLevel / static_cast<double>(std::max<size_t>(rows, 1)),
                                               static_cast<double>(few - 1));
  difference.low = difference.change() - width;
  difference.high = difference.change() + width;
  const double large = min_change_percent / 100 * of;
  if (few < least) {
    difference.judgement = Judgement::kTooFew;
  } else if (std::abs(difference.change()) < large || (difference.low <= 0 && difference.high >= 0)) {
    difference.judgement = Judgement::kNoise;
  } else {
    difference.judgement = difference.change() > 0 ? Judgement::kSlower : Judgement::kFaster;
  }
  return difference;
}

using Runs = std::vector<std::unique_ptr<Run>>;

std::vector<double> SeriesOf(const Runs& runs, Share part, bool runs_are_units) {
  if (!runs_are_units) return runs.front()->Series(part);
  std::vector<double> means;
  for (const auto& run : runs) means.push_back(Mean(run->Series(part)));
  return means;
}

std::vector<KindRow> CompareKernels(const Run& base, const Run& now, double min_change, double* without) {
  std::map<Kind, std::pair<uint32_t, uint32_t>> kinds;
  for (uint32_t i = 0; i < base.kinds().size(); ++i)
    kinds.try_emplace(base.kinds()[i], kNone, kNone).first->second.first = i;
  for (uint32_t i = 0; i < now.kinds().size(); ++i)
    kinds.try_emplace(now.kinds()[i], kNone, kNone).first->second.second = i;
  const auto amount = [](const Run& run, uint32_t kind) {
    Amount sum;
    if (kind == kNone) return sum;
    for (size_t r = 0; r < run.job().ranks.size(); ++r) {
      sum.ns += run.Kernels(r)[kind].ns / static_cast<double>(run.job().ranks.size());
      sum.count += run.Kernels(r)[kind].count / static_cast<double>(run.job().ranks.size());
    }
    return sum;
  };
  const auto series = [](const Run& run, uint32_t kind) {
    std::vector<double> values =
        kind == kNone ? std::vector<double>(run.context().steps(), 0) : run.KindSeries(kind);
    for (double& value : values) value /= kMs;
    return values;
  };
  std::vector<KindRow> rows;
  double all = 0, alone = 0;
  const size_t tests = std::min(kinds.size(), kMostRows);
  for (const auto& [kind, numbers] : kinds) {
    const Amount before = amount(base, numbers.first), after = amount(now, numbers.second);
    all += before.ns + after.ns;
    if (before.count == 0 || after.count == 0) alone += before.ns + after.ns;
    KindRow row{kind, {}, before.count, after.count, before.each() / 1e3, after.each() / 1e3};
    row.difference = Judge(series(base, numbers.first), series(now, numbers.second), tests, kLeastSteps,
                           min_change, before.ns / kMs);
    rows.push_back(std::move(row));
  }
  *without = all > 0 ? 100 * alone / all : 0;
  return rows;
}

std::vector<KindRow> CompareCollectives(const Run& base, const Run& now, double min_change) {
  std::map<Kind, std::pair<std::vector<double>, std::vector<double>>> by_kind;
  const auto add = [&by_kind](const Run& run, auto side) {
    for (size_t i = 0; i < run.matches().all.size(); ++i) {
      const Match& match = run.matches().all[i];
      if (match.step == kNone || match.step < run.context().first) continue;
      std::vector<double>& values = by_kind[run.collective_kinds()[run.CollectiveKind(i)]].*side;
      values.resize(run.context().steps());
      values[match.step - run.context().first] += static_cast<double>(run.replay().Transfer(i)) / kMs;
    }
  };
  add(base, &std::pair<std::vector<double>, std::vector<double>>::first);
  add(now, &std::pair<std::vector<double>, std::vector<double>>::second);
  const auto amount = [](const Run& run, const Kind& kind) {
    const auto at = std::ranges::find(run.collective_kinds(), kind);
    return at == run.collective_kinds().end()
               ? Amount{}
               : run.Transfers()[static_cast<size_t>(at - run.collective_kinds().begin())];
  };
  std::vector<KindRow> rows;
  for (auto& [kind, values] : by_kind) {
    values.first.resize(base.context().steps());
    values.second.resize(now.context().steps());
    const Amount before = amount(base, kind), after = amount(now, kind);
    KindRow row{kind, {}, before.count, after.count, before.each() / 1e3, after.each() / 1e3};
    row.difference = Judge(values.first, values.second, std::min(by_kind.size(), kMostRows), kLeastSteps,
                           min_change, before.ns / kMs);
    rows.push_back(std::move(row));
  }
  return rows;
}

void SortAndCut(std::vector<KindRow>& rows) {
  std::ranges::sort(rows, [](const KindRow& a, const KindRow& b) {
    const double one = std::abs(a.difference.change()), other = std::abs(b.difference.change());
    return std::tie(other, a.kind) < std::tie(one, b.kind);
  });
  if (rows.size() > kMostRows) rows.resize(kMostRows);
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

}  // namespace

std::string_view JudgementName(Judgement judgement) {
  constexpr std::string_view kNames[] = {"noise", "slower", "faster", "too few steps"};
  return kNames[static_cast<size_t>(judgement)];
}

std::vector<std::vector<uint32_t>> Partners(const Run& base, const Run& now) {
  std::vector<std::vector<uint32_t>> partners(base.job().ranks.size());
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
  const Run &before = *base.front(), &after = *now.front();
  Comparison comparison;
  comparison.base_runs = base.size();
  comparison.new_runs = now.size();
  comparison.runs_are_units = std::min(base.size(), now.size()) >= kLeastRuns;
  const size_t least = comparison.runs_are_units ? kLeastRuns : kLeastSteps;
  for (size_t i = 0; i < kParts; ++i) {
    const auto part = static_cast<Share>(i);
    const std::vector<double> one = SeriesOf(base, part, comparison.runs_are_units);
    const std::vector<double> other = SeriesOf(now, part, comparison.runs_are_units);
    // A part of a step counts when it changes the step.
    const double of = part == Share::kStep ? Mean(one) : comparison.parts.front().base;
    const double limit = part == Share::kStep ? settings.min_change_percent : settings.min_change_percent / 3;
    comparison.parts.push_back(Judge(one, other, part == Share::kStep ? 1 : kParts - 1, least, limit, of));
  }
  comparison.kernels =
      CompareKernels(before, after, settings.min_change_percent, &comparison.without_partner);
  SortAndCut(comparison.kernels);
  comparison.collectives = CompareCollectives(before, after, settings.min_change_percent);
  SortAndCut(comparison.collectives);
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
  comparison.waterfall = Waterfall(before, after, settings.jobs, &comparison.exact);

  std::vector<std::string>& remarks = comparison.remarks;
  if (before.job().has_steps != after.job().has_steps)
    remarks.emplace_back("one side has steps and the other has windows of time: their lengths mean nothing");
  if (!before.job().has_steps && !after.job().has_steps)
    remarks.emplace_back("there are no steps, only windows of time: whether it got slower cannot be said");
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
    remarks.push_back("other numbers of ranks, " + std::to_string(before.job().ranks.size()) + " and " +
                      std::to_string(after.job().ranks.size()) + ": means of ranks are compared");
  }
  if (!comparison.runs_are_units)
    remarks.emplace_back(
        "one run against one run: told from the noise of steps, not from that of runs, nodes and placement "
        "(three runs of each: --base, --new)");
  if (!comparison.exact)
    remarks.emplace_back("ranks wait for each other crosswise: where the difference comes from is inexact");
  return comparison;
}

}  // namespace profd::analyze
