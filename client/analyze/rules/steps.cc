// Steps that take longer than others, and nothing found says why.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <set>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr double kMs = 1e6;
constexpr size_t kEnoughSteps = 20;
constexpr size_t kFewSlow = 3;  // steps that come again, and no single ones
constexpr double kSlow = 1.05;  // of the median
constexpr size_t kLeastPeriods = 3;
constexpr const char* kComputing = "computing";
constexpr const char* kMoreWork = "rank.work";

std::set<uint32_t> ExplainedBy(const Context& context, const std::vector<Finding>& findings) {
  std::set<uint32_t> explained;
  for (const Finding& finding : findings) {
    if (finding.steps.size() < context.steps() || context.steps() == 1)
      explained.insert(finding.steps.begin(), finding.steps.end());
  }
  return explained;
}

// By how many steps slow ones come again; 0: at no period.
size_t PeriodOf(const std::vector<double>& excess, double least) {
  const double mean = Mean(excess);
  double own = 0;
  for (const double value : excess) own += (value - mean) * (value - mean);
  size_t best = 0;
  double best_value = least;
  for (size_t lag = 2; own > 0 && lag * kLeastPeriods <= excess.size(); ++lag) {
    double sum = 0;
    for (size_t i = lag; i < excess.size(); ++i) sum += (excess[i] - mean) * (excess[i - lag] - mean);
    const double value =
        sum / own * static_cast<double>(excess.size()) / static_cast<double>(excess.size() - lag);
    // Of twice a period the correlation is as good.
    if (value > best_value * 1.1) best_value = value, best = lag;
  }
  return best;
}

// What of the time of a step grows in those steps: median over ranks.
Table WhatVaries(const Context& context, const std::vector<uint32_t>& slow) {
  Table table{"medians over ranks, ms", {"what", "slow_steps", "other_steps"}, {}};
  const std::set<uint32_t> is_slow(slow.begin(), slow.end());
  const auto row = [&](const char* name, auto value) {
    std::vector<double> in, out;
    for (size_t r = 0; r < context.job.ranks.size(); ++r) {
      const Rank& rank = context.job.ranks[r];
      for (uint32_t i = 0; i < rank.steps.size(); ++i) {
        const uint32_t step = context.StepOf(rank, i);
        if (step != kNone)
          (is_slow.contains(step) ? in : out)
              .push_back(static_cast<double>(value(context.shares[r][i])) / kMs);
      }
    }
    table.rows.push_back({std::string(name), Median(std::move(in)), Median(std::move(out))});
  };
  row(kComputing, [](const StepShares& of) { return of.computing; });
  if (std::ranges::any_of(context.job.ranks, [](const Rank& rank) { return !rank.collectives.empty(); }))
    row("communication not hidden", [](const StepShares& of) { return of.exposed; });
  row("idle time of devices", [](const StepShares& of) { return of.free; });
  return table;
}

// What of it is most of `more` ms; "" = nothing.
std::string WhatGrows(const Table& table, double more) {
  std::string what;
  double most = more / 2;
  for (const std::vector<Cell>& row : table.rows) {
    const double grows = std::get<double>(row[1]) - std::get<double>(row[2]);
    if (grows < most) continue;
    most = grows;
    what = std::get<std::string>(row[0]);
  }
  return what;
}

// What they compute more, or that nobody knows what is behind it.
void AddGrown(Grown&& grown, const char* look, Finding& finding) {
  if (grown.cause.empty()) {
    finding.factors.insert(finding.factors.begin(),
                           {"cause", 0.6, "the difference is recorded, its reason is not"});
    finding.advice = {look};
  } else {
    finding.causes = {{grown.cause, 1}};
    finding.advice = {grown.advice};
    // That a program has more to do in some steps is mostly how it is meant.
    if (grown.cause == kMoreWork) {
      finding.most_severe = Severity::kMinor;
      finding.advice.front() += "; if they are meant to do more, there is nothing to gain";
    }
  }
  if (!grown.text.empty()) finding.evidence.push_back(std::move(grown.table));
}

// "" = they are no run, and none with an odd one in between.
std::string RunOf(const Context& context, const std::vector<uint32_t>& slow) {
  const size_t span = slow.back() - slow.front() + 1;
  if (10 * slow.size() < 9 * span) return "";
  if (slow.back() + 1 == context.first + context.steps())
    return ", those since step " + std::to_string(context.job.steps[slow.front()]);
  if (slow.front() == context.first)
    return ", those until step " + std::to_string(context.job.steps[slow.back()]);
  return ", steps " + std::to_string(context.job.steps[slow.front()]) + "-" +
         std::to_string(context.job.steps[slow.back()]);
}

// Steps that take `sum` ns more than others, together.
Finding MakeJitter(const Context& context, const std::vector<uint32_t>& slow, double sum, size_t period) {
  Finding finding;
  finding.id = finding.key = "step.jitter";
  finding.steps = slow;
  Table table = WhatVaries(context, slow);
  const double more = sum / static_cast<double>(slow.size());
  const std::string run = RunOf(context, slow);
  const std::string what = WhatGrows(table, more / kMs);
  Grown grown;
  if (what == kComputing) grown = WhatGrown(context, slow);
  finding.title = std::to_string(slow.size()) + " of " + std::to_string(context.steps()) + " steps take " +
                  Time(more) + " more than the others" +
                  (!run.empty() ? run
                   : period > 0 ? ", every " + std::to_string(period) + " steps"
                                : "") +
                  ": " +
                  (!grown.text.empty() ? grown.text
                   : what.empty()      ? "nothing that is recorded says why"
                                       : what + " grows, why is not known");
  SetBound(context, finding, sum);
  finding.evidence.push_back(std::move(table));
  finding.factors = {Occurrences(slow.size())};
  AddGrown(std::move(grown), "look at what happens in those steps in a timeline (profctl export)", finding);
  return finding;
}

// A step of which nothing explains `more` ns; others take `usual`.
Finding MakeOutlier(const Context& context, uint32_t step, double usual, double more) {
  Finding finding;
  finding.id = "step.outlier";
  finding.key = "step.outlier/" + std::to_string(context.job.steps[step]);
  // A step that is as long as the others can be the only one whose length has no cause.
  const auto length = static_cast<double>(context.step_lengths[step - context.first]);
  const bool is_longer = length - usual >= more / 2;
  Grown grown;
  if (is_longer && WhatGrows(WhatVaries(context, {step}), more / kMs) == kComputing)
    grown = WhatGrown(context, {step});
  finding.title = "step " + std::to_string(context.job.steps[step]) + " takes " + Time(length) +
                  (!is_longer           ? ", and nothing explains " + Time(more) + " of it"
                   : grown.text.empty() ? " instead of " + Time(usual) + ": no cause is found"
                                        : " instead of " + Time(usual) + ": " + grown.text);
  finding.steps = {step};
  finding.factors = {Occurrences(1)};
  SetBound(context, finding, more);
  AddGrown(std::move(grown), "look at that step in a timeline: profctl export", finding);
  return finding;
}

void FindJitterOfSteps(const Context& context, const std::vector<Ns>& rest, std::vector<Finding>& findings) {
  if (context.steps() < kEnoughSteps) return;
  const double most = 1 + context.Get("step.jitter_percent") / 100, late = Quantile(rest, 0.95);
  double usual = Median(rest);
  if (late < most * usual) {
    // Where half of the steps are slow, in turn with others, their median is slow, too.
    usual = static_cast<double>(Early(rest));
    std::vector<double> more;
    more.reserve(rest.size());
    for (const Ns step : rest) more.push_back(std::max(0.0, static_cast<double>(step) - usual));
    if (late < most * usual || PeriodOf(more, context.Get("step.period_correlation")) == 0) return;
  }
  const std::set<uint32_t> explained = ExplainedBy(context, findings);
  std::vector<uint32_t> slow;
  std::vector<double> excess;
  double sum = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    const auto step = static_cast<uint32_t>(context.first + i);
    const double more = static_cast<double>(rest[i]) - usual;
    excess.push_back(std::max(0.0, more));
    if (more < (kSlow - 1) * usual || explained.contains(step)) continue;
    slow.push_back(step);
    sum += more;
  }
  const double percent = 100 * sum / static_cast<double>(context.steps()) / context.step_ns;
  if (slow.size() < kFewSlow || percent < context.Get("general.min_cost_percent")) return;
  findings.push_back(
      MakeJitter(context, slow, sum, PeriodOf(excess, context.Get("step.period_correlation"))));
}

// Of few steps: those that are apart from the quick ones.
void FindSlowOfFew(const Context& context, const std::vector<Ns>& rest, std::vector<Finding>& findings) {
  if (context.steps() < 2 || context.steps() >= kEnoughSteps) return;
  std::vector<Ns> sorted = rest;
  std::ranges::sort(sorted);
  // Of two steps nobody knows which is as usual: the difference has to be clear.
  const double least = context.steps() < 3 ? context.Get("step.outlier") - 1 : context.Get("step.few") - 1;
  size_t quick = 0;  // as many are
  Ns widest = 0;
  for (size_t i = std::min<size_t>(sorted.size() - 1, 2); i < sorted.size(); ++i) {
    if (sorted[i] - sorted[i - 1] > widest) widest = sorted[i] - sorted[i - 1], quick = i;
  }
  if (quick == 0 || widest < 2 * (sorted[quick - 1] - sorted[0])) return;
  const double usual =
      Median(std::vector<Ns>(sorted.begin(), sorted.begin() + static_cast<ptrdiff_t>(quick)));
  if (static_cast<double>(widest) < std::max(least * usual, context.Get("general.min_once_ms") * kMs)) return;
  const std::set<uint32_t> explained = ExplainedBy(context, findings);
  std::vector<uint32_t> slow;
  double sum = 0;
  for (size_t i = 0; i < rest.size(); ++i) {
    const auto step = static_cast<uint32_t>(context.first + i);
    if (rest[i] < sorted[quick] || explained.contains(step)) continue;
    slow.push_back(step);
    sum += static_cast<double>(rest[i]) - usual;
  }
  if (slow.size() == 1) {
    findings.push_back(MakeOutlier(context, slow.front(), usual, sum));
  } else if (!slow.empty()) {
    findings.push_back(MakeJitter(context, slow, sum, 0));
  }
}

void FindOutliers(const Context& context, const std::vector<Ns>& rest, std::vector<Finding>& findings) {
  const std::set<uint32_t> explained = ExplainedBy(context, findings);
  if (context.steps() < 4) return;
  const double median = Median(rest);
  for (size_t i = 0; i < rest.size(); ++i) {
    const auto step = static_cast<uint32_t>(context.first + i);
    const double more = static_cast<double>(rest[i]) - median;
    if (static_cast<double>(rest[i]) < context.Get("step.outlier") * median ||
        more < context.Get("general.min_once_ms") * kMs || explained.contains(step))
      continue;
    findings.push_back(MakeOutlier(context, step, context.median_step_ns, more));
  }
}

}  // namespace

void SetBound(const Context& context, Finding& finding, double total_ns) {
  finding.cost.method = Method::kHeuristic;
  finding.cost.total_ms = std::max(0.0, total_ns) / kMs;
  finding.cost.ms_per_step = finding.cost.alone =
      finding.cost.total_ms / static_cast<double>(context.steps());
  finding.cost.last = finding.cost.low = finding.cost.high = finding.cost.alone;
  finding.cost.percent = 100 * finding.cost.ms_per_step * kMs / context.step_ns;
}

void FindUnevenSteps(const Context& context, const std::vector<Ns>& rest, std::vector<Finding>& findings) {
  if (!context.job.has_steps) return;
  FindJitterOfSteps(context, rest, findings);
  FindOutliers(context, rest, findings);
  FindSlowOfFew(context, rest, findings);
}

}  // namespace profd::analyze
