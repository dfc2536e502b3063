#include "client/analyze/judge.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "client/analyze/model/parallel.h"
#include "client/analyze/model/statistics.h"

namespace profd::analyze {
namespace {

constexpr uint64_t kReplayBytes = 512u << 20;  // that replays at the same time may take
constexpr double kMs = 1e6;

// As many replays at a time as there is memory for.
unsigned JobsFor(const Job& job, unsigned jobs) {
  uint64_t bytes = 0;
  for (const Rank& rank : job.ranks) bytes += rank.tasks.size() * 24 + rank.calls.size() * 24;
  return static_cast<unsigned>(std::clamp<uint64_t>(kReplayBytes / std::max<uint64_t>(bytes, 1), 1, jobs));
}

class Bench {
 public:
  Bench(const Context& context, unsigned jobs)
      : context_(context), jobs_(JobsFor(context.job, jobs)), base_(context.replay.Run(nullptr)) {}

  const Replay::Outcome& base() const { return base_; }
  double base_mean() const { return base_.Mean(context_.first); }

  // Mean step without `finding`, and without all of `findings`, and without all of them but it.
  void Weigh(std::vector<Finding>& findings) {
    std::vector<size_t> which;
    for (size_t i = 0; i < findings.size(); ++i) {
      if (findings[i].without) which.push_back(i);
    }
    std::vector<Replay::Outcome> alone(which.size()), rest(which.size());
    Replay::Outcome all;
    const auto without = [&](auto takes) {
      Lengths lengths;
      for (const size_t i : which) {
        if (takes(i)) findings[i].without(context_.replay, lengths);
      }
      return context_.replay.Run(&lengths);
    };
    ForEach(2 * which.size() + 1, jobs_, [&](size_t i) {
      if (i == 2 * which.size()) {
        all = without([](size_t) { return true; });
      } else if (i % 2 == 0) {
        alone[i / 2] = without([&](size_t other) { return other == which[i / 2]; });
      } else {
        rest[i / 2] = without([&](size_t other) { return other != which[i / 2]; });
      }
    });
    const Replay::Outcome& mended = which.empty() ? base_ : all;
    // Where devices work on from one step into the next, a mended one can take no longer than it took, nor
    // can a job win more than its findings say at most.
    double most_of_all = 0;
    for (const size_t i : which) most_of_all += findings[i].most_ns;
    ideal_ = std::max(mended.Mean(context_.first),
                      base_mean() - most_of_all / static_cast<double>(context_.steps()));
    rest_ = mended.Lengths(context_.first);
    const std::vector<Ns> base_lengths = base_.Lengths(context_.first);
    for (size_t i = 0; i < rest_.size(); ++i) rest_[i] = std::min(rest_[i], base_lengths[i]);
    for (size_t i = 0; i < which.size(); ++i) {
      Cost& cost = findings[which[i]].cost;
      const double most = findings[which[i]].most_ns / static_cast<double>(context_.steps());
      cost.alone = std::clamp(base_mean() - alone[i].Mean(context_.first), 0.0, most) / kMs;
      cost.last = std::clamp(rest[i].Mean(context_.first) - ideal_, 0.0, most) / kMs;
      cost.ms_per_step = std::max(cost.alone, cost.last);
      cost.percent = 100 * cost.ms_per_step * kMs / context_.step_ns;
      cost.total_ms = cost.ms_per_step * static_cast<double>(context_.steps());
      // How much it varies from step to step.
      const bool is_alone = cost.alone >= cost.last;
      const std::vector<Ns> with = is_alone ? base_.Times(context_.first) : rest[i].Times(context_.first);
      const std::vector<Ns> less = is_alone ? alone[i].Times(context_.first) : all.Times(context_.first);
      std::vector<double> gains;
      for (size_t k = 0; k < with.size(); ++k) gains.push_back(static_cast<double>(with[k] - less[k]) / kMs);
      const double error =
          2 * Spread(gains) / std::sqrt(static_cast<double>(std::max<size_t>(gains.size(), 1)));
      cost.low = std::max(0.0, cost.ms_per_step - error);
      cost.high = std::min(cost.ms_per_step + error, std::max(cost.ms_per_step, most / kMs));
    }
  }
  double ideal() const { return ideal_; }
  // Lengths of the steps that are analysed with all of them mended.
  const std::vector<Ns>& rest() const { return rest_; }

 private:
  const Context& context_;
  const unsigned jobs_;
  const Replay::Outcome base_;
  double ideal_ = 0;
  std::vector<Ns> rest_;
};

void SetPattern(const Context& context, Finding& finding) {
  Cost& cost = finding.cost;
  cost.hit = static_cast<uint32_t>(finding.steps.size());
  cost.of = static_cast<uint32_t>(context.steps());
  const double share = cost.of == 0 ? 0 : 100.0 * cost.hit / cost.of;
  const bool is_once = cost.of > 1 && (cost.hit <= 1 || share < context.Get("general.once_share"));
  cost.pattern = is_once ? Pattern::kOnce : cost.hit >= cost.of ? Pattern::kEvery : Pattern::kSome;
}

bool IsWorthAWord(const Context& context, const Finding& finding) {
  if (finding.is_fact || finding.cost.method == Method::kNone) return true;
  const Cost& cost = finding.cost;
  if (cost.pattern == Pattern::kOnce) {
    return cost.total_ms >= context.Get("general.min_once_ms") &&
           cost.total_ms * kMs >= context.Get("general.once_step_percent") / 100 * context.median_step_ns;
  }
  return cost.percent >= context.Get("general.min_cost_percent") &&
         cost.ms_per_step * 1000 >= context.Get("general.min_cost_us");
}

// What is true of a program also where its devices are simulated.
bool IsOfHost(const Finding& finding) {
  return finding.id.starts_with("host.stall") || finding.id == "goodput" || finding.id.starts_with("data.") ||
         finding.id == "env.setting";
}

// Only of ranks whose rows are not all there: it may be those that are missing. What others tell of stays.
bool IsOfGaps(const Context& context, const Finding& finding) {
  const std::vector<int64_t>& ranks = finding.where.ranks;
  const auto has_waits = [](const Rank& rank) { return rank.gaps.collectives > 0 || rank.gaps.hide_waits(); };
  if (finding.id == "rank.absent")
    return !context.job.unreadable.empty() || std::ranges::any_of(context.job.ranks, has_waits);
  if (finding.id == "data.loss" || finding.id == "device.errors") return false;
  if (ranks.empty())  // of the job: of steps, and of the time between them
    return std::ranges::all_of(context.job.ranks,
                               [](const Rank& rank) { return rank.gaps.are_times_wrong(); });
  bool any_is_here = false;
  for (const Rank& rank : context.job.ranks) {
    if (std::ranges::find(ranks, rank.number) == ranks.end()) continue;
    if (!rank.gaps.any()) return false;
    any_is_here = true;
  }
  return any_is_here;  // of ranks that are not recorded others tell
}

void SetSeverity(Finding& finding) {
  if (finding.is_fact) return;
  const Cost& cost = finding.cost;
  Severity severity = cost.percent >= 10  ? Severity::kCritical
                      : cost.percent >= 3 ? Severity::kMajor
                                          : Severity::kMinor;
  if (cost.pattern == Pattern::kOnce) severity = std::max(severity, Severity::kMinor);
  severity = std::max(severity, finding.most_severe);
  if (finding.confidence() == "low" && severity != Severity::kInfo)
    severity = static_cast<Severity>(static_cast<int>(severity) + 1);
  finding.severity = severity;
}

// Of the steps that are analysed, as client/export/read/program_steps.h has them.
std::vector<Ns> LengthsOf(const Context& context) {
  if (!context.job.has_steps) return context.step_times;
  std::vector<Ns> lengths(context.job.steps.size());
  for (const Rank& rank : context.job.ranks) {
    for (size_t i = 0; i < rank.steps.size() && context.replay.IsWhole(rank); ++i) {
      if (rank.job_step[i] == kNone) continue;
      Ns& longest = lengths[rank.job_step[i]];
      longest = std::max(longest, rank.steps[i].end - rank.steps[i].begin);
    }
  }
  lengths.erase(lengths.begin(), lengths.begin() + static_cast<ptrdiff_t>(context.first));
  return lengths;
}

Summary Summarise(const Context& context, const Bench& bench) {
  Summary summary;
  summary.step_ms_mean = context.step_ns / kMs;
  const std::vector<Ns> lengths = LengthsOf(context);
  summary.step_ms_p50 = Quantile(lengths, 0.5) / kMs;
  summary.step_ms_p95 = Quantile(lengths, 0.95) / kMs;
  summary.ideal_ms = bench.ideal() / kMs;
  summary.exact = bench.base().exact;
  summary.replay_error = std::abs(bench.base_mean() / context.step_ns - 1);
  double busiest = 0;
  const auto is_known = [&context](const Rank& rank) {
    return context.replay.IsWhole(rank) && !rank.gaps.are_times_wrong();
  };
  const auto ranks = static_cast<double>(std::ranges::count_if(context.job.ranks, is_known));
  summary.knows_devices = ranks > 0;
  if (!summary.knows_devices) return summary;
  for (size_t r = 0; r < context.job.ranks.size(); ++r) {
    const Rank& rank = context.job.ranks[r];
    if (!is_known(rank)) continue;
    Ns computing = 0, exposed = 0, communication = 0, transfer = 0;
    for (size_t step = 0; step < rank.steps.size(); ++step) {
      if (context.StepOf(rank, static_cast<uint32_t>(step)) == kNone) continue;
      computing += context.shares[r][step].computing;
      exposed += context.shares[r][step].exposed;
      communication += context.shares[r][step].communication;
    }
    for (const Collective& collective : rank.collectives) {
      if (collective.match == kNone || context.StepOf(rank, collective.step) == kNone) continue;
      transfer += std::min(context.replay.Transfer(collective.match), collective.end - collective.begin);
    }
    const double per_step = kMs * static_cast<double>(context.steps());
    const double part =
        communication > 0 ? std::min(1.0, static_cast<double>(transfer) / static_cast<double>(communication))
                          : 1;
    const double compute_ms = static_cast<double>(computing) / per_step,
                 exposed_ms = static_cast<double>(exposed) / per_step;
    summary.compute_ms += compute_ms / ranks;
    summary.exposed_ms += exposed_ms / ranks;
    summary.waiting_ms += exposed_ms * (1 - part) / ranks;
    busiest = std::max(busiest, compute_ms + exposed_ms * part);
  }
  summary.idle_ms = std::max(0.0, summary.step_ms_mean - summary.compute_ms - summary.exposed_ms);
  const double gained = summary.step_ms_mean - summary.ideal_ms;
  summary.unexplained_ms = std::max(0.0, summary.step_ms_mean - busiest - gained);
  return summary;
}

}  // namespace

bool IsWanted(const Finding& finding, const std::vector<std::string>& wanted) {
  const auto is_named = [&finding](std::string_view name) {
    const auto matches = [name](std::string_view id) {
      return name == "all" || id == name || (id.starts_with(name) && id.substr(name.size()).starts_with('.'));
    };
    return matches(finding.id) ||
           std::ranges::any_of(finding.causes, [&](const CauseShare& cause) { return matches(cause.id); });
  };
  bool any_positive = false, takes = false;
  for (const std::string& word : wanted) {
    if (word.starts_with('-')) {
      if (is_named(std::string_view(word).substr(1))) return false;
    } else {
      any_positive = true;
      takes = takes || is_named(word);
    }
  }
  return takes || !any_positive;
}

Verdict Judge(const Context& context, const std::vector<std::string>& wanted, unsigned jobs) {
  const std::span<const Rule> rules = Rules();
  std::vector<Found> parts(rules.size());
  ForEach(rules.size(), jobs, [&](size_t i) {
    if (rules[i].find != nullptr) rules[i].find(context, parts[i]);
  });
  Verdict verdict;
  std::vector<Finding> findings;
  for (Found& part : parts) {
    std::ranges::move(part.findings, std::back_inserter(findings));
    std::ranges::move(part.not_run, std::back_inserter(verdict.not_run));
  }
  std::erase_if(findings, [&context](const Finding& finding) { return IsOfGaps(context, finding); });
  Bench bench(context, jobs);
  const bool has_steps = context.steps() > 0 && context.step_ns > 0;
  // What is dropped has hidden nothing, but has been counted among the others.
  for (int round = 0; round < 2 && has_steps; ++round) {
    bench.Weigh(findings);
    for (Finding& finding : findings) SetPattern(context, finding);
    const size_t before = findings.size();
    std::erase_if(findings, [&](const Finding& finding) { return !IsWorthAWord(context, finding); });
    if (findings.size() == before) break;
    if (round == 1) bench.Weigh(findings);
  }
  if (has_steps) {
    FindUnexplainedRanks(context, findings);
    FindUnevenSteps(context, bench.rest(), findings);
    std::erase_if(findings, [&context](const Finding& finding) { return IsOfGaps(context, finding); });
  }
  std::erase_if(findings, [&wanted](const Finding& finding) { return !IsWanted(finding, wanted); });
  for (Finding& finding : findings) {
    SetPattern(context, finding);
    if (context.steps() < 3)
      finding.factors.push_back({"steps", 0.6, "fewer than three steps were analysed"});
    if (!bench.base().exact)
      finding.factors.push_back(
          {"replay", 0.39, "ranks wait for each other crosswise: the replay is inexact"});
    if (finding.id != "data.loss") WeighLosses(context, finding);
    SetSeverity(finding);
    if (context.job.simulated && !IsOfHost(finding)) finding.title += " (simulated)";
  }
  std::ranges::sort(findings, [](const Finding& a, const Finding& b) {
    const auto key = [](const Finding& finding) {
      const bool once = finding.cost.pattern == Pattern::kOnce && !finding.is_fact;
      return std::tuple(once, once ? Severity::kMinor : finding.severity, finding.cost.method,
                        once ? -finding.cost.total_ms : -finding.cost.ms_per_step, finding.key);
    };
    return key(a) < key(b);
  });
  verdict.summary = Summarise(context, bench);
  verdict.findings = std::move(findings);
  return verdict;
}

}  // namespace profd::analyze
