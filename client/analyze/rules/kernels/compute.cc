// Kernels that take longer on one rank than on others, ranks that have more of them, clocks that are low.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>

#include "client/analyze/model/clock.h"
#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/kernels/turns.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostRows = 10;

struct ClassSum {
  uint32_t count = 0;
  double ns = 0;
  double mean() const { return count == 0 ? 0 : ns / count; }
};

// By class, ascending: jobs of changing shapes have many, and each rank only some of them.
class ClassSums {
 public:
  explicit ClassSums(const std::vector<ClassSum>& by_class) {
    for (uint32_t kind = 0; kind < by_class.size(); ++kind) {
      if (by_class[kind].count > 0) sums_.emplace_back(kind, by_class[kind]);
    }
  }
  ClassSum Of(uint32_t kind) const {
    const auto at = std::ranges::lower_bound(sums_, kind, {}, &std::pair<uint32_t, ClassSum>::first);
    return at != sums_.end() && at->first == kind ? at->second : ClassSum{};
  }
  auto begin() const { return sums_.begin(); }
  auto end() const { return sums_.end(); }

 private:
  std::vector<std::pair<uint32_t, ClassSum>> sums_;
};

// Kernels of each rank, over the steps that are analysed.
std::vector<ClassSums> SumClasses(const Context& context) {
  std::vector<ClassSums> sums;
  for (const Rank& rank : context.job.ranks) {
    std::vector<ClassSum> by_class(context.job.classes.size());
    ForEachKernel(context, rank, [&](uint32_t, const Task& task) {
      ++by_class[task.kind].count;
      by_class[task.kind].ns += static_cast<double>(task.end - task.begin);
    });
    sums.emplace_back(by_class);
  }
  return sums;
}

// What a class takes on the ranks of one role, and how many a rank has: medians. 0: fewer than half of them
// have it.
struct UsualClass {
  double mean = 0, count = 0;
};
std::vector<UsualClass> UsualOf(const Context& context, const std::vector<ClassSums>& sums,
                                const std::vector<uint32_t>& peers) {
  std::vector<std::vector<ClassSum>> of_class(context.job.classes.size());
  for (const uint32_t peer : peers) {
    for (const auto& [kind, sum] : sums[peer]) of_class[kind].push_back(sum);
  }
  std::vector<UsualClass> usual(of_class.size());
  for (size_t kind = 0; kind < usual.size(); ++kind) {
    std::vector<ClassSum>& all = of_class[kind];
    if (2 * all.size() < peers.size() || all.size() < 2) continue;
    std::vector<double> means, counts;
    for (const ClassSum& sum : all) {
      means.push_back(sum.mean());
      counts.push_back(sum.count);
    }
    counts.resize(peers.size(), 0);
    // Where half of them have more it is the others that have the usual.
    const auto middle = counts.begin() + (std::ssize(counts) - 1) / 2;
    std::ranges::nth_element(counts, middle);
    usual[kind] = {Median(std::move(means)), *middle};
  }
  return usual;
}

// `reference`: what ranks that are not late have of the usual.
Table ClassTable(const Context& context, const ClassSums& own, const std::vector<UsualClass>& usual,
                 double reference) {
  std::vector<std::pair<double, uint32_t>> order;
  for (const auto& [kind, sum] : own) {
    if (usual[kind].mean > 0)
      order.emplace_back(-(sum.mean() - usual[kind].mean * reference) * sum.count, kind);
  }
  std::ranges::sort(order);
  order.resize(std::min(order.size(), kMostRows));
  Table table{"kernels that take longer", {"type", "shapes", "count", "mean_us", "usual_us", "ratio"}, {}};
  for (const auto& [more, kind] : order) {
    const ClassSum sum = own.Of(kind);
    table.rows.push_back({std::string(context.job.Text(context.job.classes[kind].type)),
                          std::string(context.job.Text(context.job.classes[kind].shapes)), int64_t{sum.count},
                          sum.mean() / 1e3, usual[kind].mean * reference / 1e3,
                          sum.mean() / (usual[kind].mean * reference)});
  }
  return table;
}

}  // namespace

Excess ExcessOf(const Context& context, const std::vector<double>& values, double noise, double threshold) {
  Excess excess;
  double sum = 0;
  // Where the usual step stands out, one that does so by half as much is one of them.
  const double least_value = Median(values) >= threshold ? threshold / 2 : threshold;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i] < least_value) continue;
    excess.steps.push_back(static_cast<uint32_t>(context.first + i));
    sum += values[i];
  }
  if (excess.steps.empty()) return excess;
  const auto n = static_cast<double>(excess.steps.size());
  excess.mean = sum / n;
  excess.error = noise / std::sqrt(n);
  const bool is_few = values.size() < 5;
  const double least = context.Get(is_few ? "general.effect_percent_few" : "general.effect_percent") / 100;
  excess.is_clear = excess.mean >= std::max(least, threshold) &&
                    excess.mean > context.Get("general.effect_se") * excess.error;
  return excess;
}

void ScaleComputing(const Context& context, const Replay& replay, Lengths& lengths, uint32_t r, double factor,
                    size_t from_step) {
  Lengths::OfRank& of = replay.Touch(lengths, r);
  const Rank& rank = replay.job().ranks[r];
  for (size_t i = 0; i < rank.tasks.size(); ++i) {
    const Task& task = rank.tasks[i];
    const uint32_t step = context.StepOf(rank, task.step);
    if (task.work == Work::kCompute && step != kNone && step >= from_step)
      of.task[i] = std::llround(static_cast<double>(of.task[i]) * factor);
  }
}

Factor Occurrences(size_t n) {
  constexpr double kScores[] = {0, 0.6, 0.75, 0.85, 0.9, 1};
  return {"occurrences", kScores[std::min<size_t>(n, 5)],
          n == 1 ? "it happened once" : "it happened in " + std::to_string(n) + " steps"};
}

void FindSlowCompute(const Context& context, Found& found) {
  const Job& job = context.job;
  const auto sums = SumClasses(context);
  const size_t steps = context.steps();
  std::vector<double> whole(job.ranks.size(), 1);  // own time over the usual
  std::vector<std::vector<double>> by_step(job.ranks.size());
  std::map<std::vector<uint32_t>, std::vector<UsualClass>> usual_of;
  for (size_t r = 0; r < job.ranks.size(); ++r) {
    const std::vector<uint32_t>& peers = context.peers[r];
    if (peers.size() < 2) continue;
    auto [at, is_new] = usual_of.try_emplace(peers);
    if (is_new) at->second = UsualOf(context, sums, peers);
    const std::vector<UsualClass>& usual = at->second;
    std::vector<double> own_ns(steps), usual_ns(steps);
    for (const Task& task : job.ranks[r].tasks) {
      const uint32_t step = context.StepOf(job.ranks[r], task.step);
      if (step == kNone || task.work != Work::kCompute || task.kind == kNone || usual[task.kind].mean <= 0)
        continue;
      own_ns[step - context.first] += static_cast<double>(task.end - task.begin);
      usual_ns[step - context.first] += usual[task.kind].mean;
    }
    double own = 0, other = 0;
    for (size_t i = 0; i < steps; ++i) {
      by_step[r].push_back(usual_ns[i] > 0 ? own_ns[i] / usual_ns[i] : 1);
      own += own_ns[i];
      other += usual_ns[i];
    }
    if (other > 0) whole[r] = own / other;
  }
  std::vector<std::pair<uint32_t, Jitter>> jittery;
  bool knows_jitter = false;
  for (const auto& [peers, usual] : usual_of) {
    std::vector<double> of_peers, noise;
    for (const uint32_t peer : peers) of_peers.push_back(whole[peer]);
    const double threshold = context.Get("general.effect_percent") / 100;
    const double reference = Usual(of_peers, threshold);
    // What all of them share in a step makes nobody late.
    for (size_t i = 0; i < steps; ++i) {
      std::vector<double> of_step;
      for (const uint32_t peer : peers) of_step.push_back(by_step[peer][i] / reference);
      const double common = Usual(of_step, threshold);
      for (const uint32_t peer : peers) by_step[peer][i] /= common > 0 ? common : 1;
    }
    for (const uint32_t peer : peers) {
      const double middle = Median(by_step[peer]);
      for (const double value : by_step[peer]) noise.push_back(value - middle);
    }
    const double spread = Spread(noise);
    const bool is_uneven =
        FindUneven(context, peers, spread >= threshold, found.findings) && spread >= threshold;
    std::vector<double> means;
    for (const uint32_t peer : peers) means.push_back(Mean(by_step[peer]) / reference - 1);
    const double middle = Median(means);
    std::vector<Late> all;
    for (const uint32_t r : peers) {
      std::vector<double> values;
      for (const double value : by_step[r]) values.push_back(value / reference - 1);
      const Excess excess = is_uneven ? ExcessOfAll(context, values, spread, middle)
                                      : ExcessOf(context, values, spread, threshold);
      if (!excess.is_clear) continue;
      const Rank& rank = job.ranks[r];
      Late late = LateRank(context, r, "compute", "rank.compute", excess.mean,
                           "its kernels take " + PercentOf(excess.mean) + " longer than on ranks like it",
                           excess.steps);
      Finding& finding = late.finding;
      finding.evidence.push_back(ClassTable(context, sums[r], usual, reference));
      finding.factors = {Occurrences(excess.steps.size()),
                         {"effect", std::min(1.0, excess.mean / std::max(5 * excess.error, 1e-9)),
                          "kernels " + PercentOf(excess.mean) + " longer, ± " + PercentOf(excess.error)}};
      finding.without = [r, steps_hit = excess.steps, factor = 1 / (1 + excess.mean), &context](
                            const Replay& replay, Lengths& lengths) {
        Lengths::OfRank& of = replay.Touch(lengths, r);
        const Rank& rank = replay.job().ranks[r];
        std::vector<bool> is_hit(replay.job().steps.size());
        for (const uint32_t step : steps_hit) is_hit[step] = true;
        for (size_t i = 0; i < rank.tasks.size(); ++i) {
          const Task& task = rank.tasks[i];
          const uint32_t step = context.StepOf(rank, task.step);
          if (task.work != Work::kCompute || step == kNone || !is_hit[step]) continue;
          of.task[i] = std::llround(static_cast<double>(of.task[i]) * factor);
        }
      };
      const double loss = ClockOf(rank).lost;
      if (!knows_jitter) {
        jittery = JitteryRanks(context);
        knows_jitter = true;
      }
      const auto of_rank = std::ranges::find(jittery, r, &std::pair<uint32_t, Jitter>::first);
      Jitter jitter = of_rank == jittery.end() ? Jitter{} : of_rank->second;
      const double share = std::min(1.0, loss / (1 - std::min(loss, 0.9)) / excess.mean);
      Shared shared = SharedOf(context, r);
      const double beside =
          std::max(shared.overlap, shared.ns / std::max(1.0, shared.computing - shared.ns) / excess.mean);
      if (beside >= context.Get("host.cause_share") / 100) {
        if (IsCommon(context, SharedRanks(context).size())) continue;  // of all of them device.shared tells
        finding.causes.push_back({"device.shared", std::min(1.0, beside)});
        late.why = OtherPrograms(rank) + " on its device";
        finding.advice = {kDoNotShare};
        std::ranges::move(shared.tables, std::back_inserter(finding.evidence));
      } else if (share >= context.Get("host.cause_share") / 100) {
        finding.causes.push_back({"clock.low", share});
        late.why = "its clock is " + PercentOf(loss) + " below the rated one";
        finding.advice = {"look at cooling and the power limit of the device"};
      } else if (const double part = jitter.ns / std::max(1.0, jitter.computing - jitter.ns) / excess.mean;
                 part >= context.Get("host.cause_share") / 100) {
        if (IsCommon(context, jittery.size())) continue;  // of all of them kernel.jitter tells
        finding.causes.push_back({"kernel.jitter", std::min(1.0, part)});
        late.why = "some of its kernels take much longer than others like them";
        finding.advice = {"see what else uses that device or its memory at those moments"};
        finding.evidence.push_back(std::move(jitter.table));
        finding.without = [r, more = std::move(jitter.more)](const Replay& replay, Lengths& lengths) {
          Shorten(replay, lengths, r, more);
        };
      } else {
        finding.advice = {
            "compare clock, memory bandwidth and other users of the device with those of a rank like it"};
      }
      all.push_back(std::move(late));
    }
    JoinTurns(context, all, found.findings);
    TellLate(context, peers.size(), std::move(all), found.findings);
  }
}

namespace {

// By class of kernels that a rank has more of than is usual, ascending: the part of their time that is left
// without all that it has more. What it has less of others, as its shapes differ, is left.
std::vector<std::pair<uint32_t, double>> UsualParts(const ClassSums& own,
                                                    const std::vector<UsualClass>& usual) {
  double more = 0, less = 0;
  for (uint32_t kind = 0; kind < usual.size(); ++kind) {
    const ClassSum sum = own.Of(kind);
    const double extra = sum.count - usual[kind].count;
    if (extra > 0) {
      more += extra * sum.mean();
    } else {
      less -= extra * usual[kind].mean;
    }
  }
  std::vector<std::pair<uint32_t, double>> parts;
  const double share = more > 0 ? std::max(0.0, 1 - less / more) : 0;
  for (const auto& [kind, sum] : own) {
    if (const double extra = sum.count - usual[kind].count; extra > 0)
      parts.emplace_back(kind, 1 - share * extra / sum.count);
  }
  return parts;
}

}  // namespace

namespace {

// Of two ranks: what the one with less to do has.
std::vector<UsualClass> UsualOfTwo(const Context& context, const ClassSums& one, const ClassSums& other) {
  std::vector<UsualClass> usual(context.job.classes.size());
  const auto mean = [&](uint32_t kind) {
    const ClassSum a = one.Of(kind), b = other.Of(kind);
    return a.count == 0 ? b.mean() : b.count == 0 ? a.mean() : (a.mean() + b.mean()) / 2;
  };
  const auto all = [&](const ClassSums& of) {
    double ns = 0;
    for (const auto& [kind, sum] : of) ns += sum.count * mean(kind);
    return ns;
  };
  for (const auto& [kind, sum] : all(one) <= all(other) ? one : other)
    usual[kind] = {mean(kind), static_cast<double>(sum.count)};
  return usual;
}

// Nobody can say by others what is usual: the one with more has it in each step, and not by chance.
bool IsClearOfTwo(const Context& context, const std::vector<ClassSums>& sums,
                  const std::vector<UsualClass>& usual, uint32_t more, uint32_t less) {
  std::vector<double> difference(context.steps());
  const auto add = [&](uint32_t r, double sign) {
    const Rank& rank = context.job.ranks[r];
    ForEachKernel(context, rank, [&](uint32_t, const Task& task) {
      const double of = usual[task.kind].mean > 0 ? usual[task.kind].mean : sums[r].Of(task.kind).mean();
      difference[context.StepOf(rank, task.step) - context.first] += sign * of;
    });
  };
  add(more, 1);
  add(less, -1);
  double all = 0;
  for (const UsualClass& one : usual) all += one.count * one.mean;
  const double error = Spread(difference) / std::sqrt(static_cast<double>(difference.size()));
  const double least =
      context.Get("general.effect_percent") / 100 * all / static_cast<double>(context.steps());
  return Median(std::move(difference)) > std::max(least, context.Get("general.effect_se") * error);
}

}  // namespace

// More kernels than others of the role, or other shapes of the same types.
void FindExtraWork(const Context& context, Found& found) {
  const Job& job = context.job;
  const auto sums = SumClasses(context);
  std::map<std::vector<uint32_t>, bool> done;
  for (size_t i = 0; i < job.ranks.size(); ++i) {
    const std::vector<uint32_t>& peers = context.peers[i];
    if (peers.size() < 2 || !done.try_emplace(peers, true).second) continue;
    const bool are_two = peers.size() == 2;
    const std::vector<UsualClass> usual =
        are_two ? UsualOfTwo(context, sums[peers[0]], sums[peers[1]]) : UsualOf(context, sums, peers);
    // Of each rank: time of classes that few others have, and of more calls than others make.
    double usual_total = 0;
    for (const UsualClass& one : usual) usual_total += one.count * one.mean;
    std::vector<double> extra(peers.size(), 1);
    for (size_t p = 0; p < peers.size(); ++p) {
      double all = 0;
      for (const auto& [kind, sum] : sums[peers[p]])
        all += sum.count * (usual[kind].mean > 0 ? usual[kind].mean : sum.mean());
      if (usual_total > 0) extra[p] = all / usual_total;
    }
    double reference = Usual(extra, context.Get("general.effect_percent") / 100);
    // Where most have more than the least, that one has less: of some of its kernels no record is left,
    // maybe.
    const auto has_more = [&](double of) {
      return of / reference - 1 >= context.Get("general.effect_percent") / 100;
    };
    if (2 * static_cast<size_t>(std::ranges::count_if(extra, has_more)) > extra.size())
      reference = Median(extra);
    std::vector<Late> all;
    for (size_t p = 0; p < peers.size(); ++p) {
      const double more = extra[p] / reference - 1;
      if (more < context.Get("general.effect_percent") / 100) continue;
      const uint32_t r = peers[p];
      if (are_two && !IsClearOfTwo(context, sums, usual, r, peers[1 - p])) continue;
      Late late =
          LateRank(context, r, "work", "rank.work", more,
                   "it has " + PercentOf(more) + " more work than " +
                       (are_two ? "rank " + std::to_string(job.ranks[peers[1 - p]].number) : "ranks like it"),
                   AllSteps(context));
      Finding& finding = late.finding;
      Table table{
          "kernels that others do not have", {"type", "shapes", "count", "usual_count", "mean_us"}, {}};
      std::vector<std::pair<double, uint32_t>> order;
      for (const auto& [kind, sum] : sums[r]) {
        if (sum.count > usual[kind].count) order.emplace_back(-sum.ns, kind);
      }
      std::ranges::sort(order);
      order.resize(std::min(order.size(), kMostRows));
      for (const auto& [ns, kind] : order) {
        const ClassSum sum = sums[r].Of(kind);
        table.rows.push_back({std::string(job.Text(job.classes[kind].type)),
                              std::string(job.Text(job.classes[kind].shapes)), int64_t{sum.count},
                              usual[kind].count, sum.mean() / 1e3});
      }
      finding.evidence.push_back(std::move(table));
      finding.advice = {"balance what the ranks are given: tokens, experts or layers"};
      finding.factors = {Occurrences(context.steps())};
      if (are_two)
        finding.factors.push_back({"peers", 0.6, "of two ranks nobody can say which one has what it should"});
      finding.without = [r, parts = UsualParts(sums[r], usual), &context](const Replay& replay,
                                                                          Lengths& lengths) {
        Lengths::OfRank& of = replay.Touch(lengths, r);
        ForEachKernel(context, context.job.ranks[r], [&](uint32_t i, const Task& task) {
          const auto part =
              std::ranges::lower_bound(parts, task.kind, {}, &std::pair<uint32_t, double>::first);
          if (part != parts.end() && part->first == task.kind)
            of.task[i] = std::llround(static_cast<double>(of.task[i]) * part->second);
        });
      };
      all.push_back(std::move(late));
    }
    TellLate(context, peers.size(), std::move(all), found.findings);
  }
}

namespace {

// Of one rank: what runs on the AI CPU.
struct OnAiCpu {
  std::map<uint32_t, ClassSum> kinds;
  std::vector<double> by_step;
  double total = 0;
  // The class that takes most; kNone: one without a name.
  uint32_t most() const {
    return std::ranges::max_element(kinds, {}, [](const auto& one) { return one.second.ns; })->first;
  }
};

OnAiCpu AiCpuOf(const Context& context, const Rank& rank) {
  OnAiCpu of;
  of.by_step.resize(context.steps());
  for (const Task& task : rank.tasks) {
    const uint32_t step = context.StepOf(rank, task.step);
    if (task.work != Work::kAiCpu || step == kNone) continue;
    const auto length = static_cast<double>(task.end - task.begin);
    ++of.kinds[task.kind].count;
    of.kinds[task.kind].ns += length;
    of.by_step[step - context.first] += length;
    of.total += length;
  }
  return of;
}

}  // namespace

// An operator is one cause, on however many ranks it runs there.
void FindAiCpu(const Context& context, Found& found) {
  const Job& job = context.job;
  std::map<std::string, std::vector<std::pair<uint32_t, OnAiCpu>>> by_type;
  for (uint32_t r = 0; r < job.ranks.size(); ++r) {
    OnAiCpu of = AiCpuOf(context, job.ranks[r]);
    if (of.total <= 0 || of.total < context.Get("kernel.aicpu_percent") / 100 * context.step_ns *
                                        static_cast<double>(context.steps()))
      continue;
    const uint32_t most = of.most();
    by_type[most == kNone ? "operators" : std::string(job.Text(job.classes[most].type))].emplace_back(
        r, std::move(of));
  }
  for (const auto& [type, all] : by_type) {
    std::vector<uint32_t> ranks;
    std::vector<bool> is_hit(job.steps.size());
    double longest = 0;
    Table table{"operators on the AI CPU", {"rank", "type", "shapes", "count", "total_ms", "mean_us"}, {}};
    for (const auto& [r, of] : all) {
      ranks.push_back(r);
      longest = std::max(longest, of.total);
      for (size_t i = 0; i < of.by_step.size(); ++i) {
        if (of.by_step[i] > 0) is_hit[context.first + i] = true;
      }
      for (const auto& [kind, sum] : of.kinds) {
        const KernelClass key = kind == kNone ? KernelClass{} : job.classes[kind];
        table.rows.push_back({job.ranks[r].number, std::string(job.Text(key.type)),
                              std::string(job.Text(key.shapes)), int64_t{sum.count}, sum.ns / 1e6,
                              sum.mean() / 1e3});
      }
    }
    std::ranges::stable_sort(table.rows, [](const auto& a, const auto& b) {
      return std::get<double>(a[4]) > std::get<double>(b[4]);
    });
    table.rows.resize(std::min<size_t>(table.rows.size(), 50));
    Finding finding;
    finding.id = "kernel.aicpu";
    finding.key = "kernel.aicpu/" + RankList(job, ranks);
    finding.title = RanksName(job, ranks) + ": " + type + " runs on the AI CPU, " +
                    Time(longest / static_cast<double>(context.steps())) + " a step";
    finding.where = ranks.size() == 1 ? WhereOf(job.ranks[ranks.front()]) : WhereOf(job, ranks);
    for (uint32_t step = 0; step < is_hit.size(); ++step) {
      if (is_hit[step]) finding.steps.push_back(step);
    }
    finding.evidence.push_back(std::move(table));
    finding.advice = {"use a data type that the AI cores have for " + type + ", or another operator"};
    finding.factors = {{"record", 1, "every one of its tasks is recorded"}};
    finding.without = [ranks, &context](const Replay& replay, Lengths& lengths) {
      for (const uint32_t r : ranks) {
        Lengths::OfRank& of = replay.Touch(lengths, r);
        const Rank& rank = replay.job().ranks[r];
        for (size_t i = 0; i < rank.tasks.size(); ++i) {
          if (rank.tasks[i].work == Work::kAiCpu && context.StepOf(rank, rank.tasks[i].step) != kNone)
            of.task[i] = 0;
        }
      }
    };
    found.findings.push_back(std::move(finding));
  }
}

// A clock that is low everywhere: no rank is late for it, and all of them are slow.
void FindLowClocks(const Context& context, Found& found) {
  bool is_known = false;
  std::vector<std::pair<uint32_t, double>> low;
  for (uint32_t r = 0; r < context.job.ranks.size(); ++r) {
    const Rank& rank = context.job.ranks[r];
    is_known = is_known || (!rank.frequencies.empty() && rank.rated_mhz > 0);
    const double loss = ClockOf(rank).lost;
    if (loss >= context.Get("clock.low_percent") / 100) low.emplace_back(r, loss);
  }
  if (!is_known) {
    found.not_run.push_back(
        {"clock.low", "no rank has its clock recorded and its rated clock known (--collect low-power)"});
    return;
  }
  if (low.size() < 2 || 2 * low.size() < context.job.ranks.size()) return;  // of single ones rank.late tells
  Finding finding;
  finding.id = "clock.low";
  finding.key = "clock.low/" + std::to_string(low.size());
  std::vector<double> losses;
  Table table{"clocks while computing", {"rank", "below_rated_percent"}, {}};
  for (const auto& [r, loss] : low) {
    losses.push_back(loss);
    finding.where.ranks.push_back(context.job.ranks[r].number);
    if (table.rows.size() < 50) table.rows.push_back({context.job.ranks[r].number, loss * 100});
  }
  finding.title = std::to_string(low.size()) + " of " + std::to_string(context.job.ranks.size()) +
                  " ranks: the clock is " + PercentOf(Median(losses)) +
                  " below the rated one while they compute";
  finding.evidence.push_back(std::move(table));
  finding.steps = AllSteps(context);
  finding.advice = {"look at cooling and the power limit of the nodes"};
  finding.cost.method = Method::kHeuristic;
  finding.factors = {{"method", 0.6, "as if every kernel followed the clock"}};
  finding.without = [low, &context](const Replay& replay, Lengths& lengths) {
    for (const auto& [r, loss] : low) ScaleComputing(context, replay, lengths, r, 1 - loss);
  };
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
