// Pipelines: stages that have more to do than others, and time that no stage's work explains.
#include <algorithm>
#include <map>
#include <set>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

// Of one stage: what its ranks compute in a step, and how many batches they are given.
struct Stage {
  std::vector<uint32_t> ranks;
  double computing = 0;  // ns of a step: what half of its ranks have at least
  double busy = 0;       // the same with what they wait for within the stage: all but messages and idle time
};

std::map<int, Stage> StagesOf(const Context& context) {
  std::map<int, Stage> stages;
  for (uint32_t r = 0; r < context.stage.size(); ++r) {
    if (context.stage[r] >= 0) stages[context.stage[r]].ranks.push_back(r);
  }
  for (auto& [number, stage] : stages) {
    std::vector<double> computing, busy;
    for (const uint32_t r : stage.ranks) {
      const Rank& rank = context.job.ranks[r];
      std::vector<double> of_step(context.steps()), with_collectives(context.steps());
      for (size_t i = 0; i < rank.steps.size(); ++i) {
        const uint32_t step = context.StepOf(rank, static_cast<uint32_t>(i));
        if (step == kNone) continue;
        of_step[step - context.first] = with_collectives[step - context.first] =
            static_cast<double>(context.shares[r][i].computing);
      }
      for (const Collective& collective : rank.collectives) {
        const uint32_t step = context.StepOf(rank, collective.step);
        if (step == kNone || collective.match == kNone || context.matches.all[collective.match].is_pair)
          continue;
        with_collectives[step - context.first] += static_cast<double>(
            std::min(context.replay.Transfer(collective.match), collective.end - collective.begin));
      }
      computing.push_back(Median(of_step));
      busy.push_back(Median(with_collectives));
    }
    // The lower one in the middle: of two ranks one that is slow makes no heavy stage.
    const auto middle = computing.begin() + (std::ssize(computing) - 1) / 2;
    std::ranges::nth_element(computing, middle);
    stage.computing = *middle;
    stage.busy = Median(busy);
  }
  return stages;
}

Table StageTable(const Context& context, const std::map<int, Stage>& stages) {
  Table table{"stages", {"stage", "ranks", "computing_ms", "busy_ms", "part_of_step"}, {}};
  for (const auto& [number, stage] : stages) {
    if (table.rows.size() < 50)
      table.rows.push_back({int64_t{number}, RankList(context.job, stage.ranks), stage.computing / 1e6,
                            stage.busy / 1e6, stage.busy / context.step_ns});
  }
  return table;
}

// Batches of a step: messages from one rank to the next one.
size_t BatchesOf(const Context& context) {
  std::map<std::tuple<uint32_t, uint32_t, uint32_t>, size_t> messages;  // by step, sender, receiver
  for (const Match& match : context.matches.all) {
    if (!match.is_pair || match.step < context.first) continue;
    const Match::Member& one = match.members[0];
    const bool one_sends =
        IsSend(context.job.Text(context.job.ranks[one.rank].collectives[one.collective].type));
    const uint32_t from = match.members[one_sends ? 0 : 1].rank, to = match.members[one_sends ? 1 : 0].rank;
    if (context.stage[from] >= 0 && context.stage[to] == context.stage[from] + 1)
      ++messages[{match.step, from, to}];
  }
  std::vector<size_t> counts;
  counts.reserve(messages.size());
  for (const auto& [key, count] : messages) counts.push_back(count);
  return static_cast<size_t>(Median(counts));
}

}  // namespace

void FindHeavyStages(const Context& context, Found& found) {
  const std::map<int, Stage> stages = StagesOf(context);
  if (stages.size() < 2) return;
  std::vector<double> all;
  all.reserve(stages.size());
  for (const auto& [number, stage] : stages) all.push_back(stage.computing);
  const double ratio = context.Get("pipe.stage_ratio");
  const double usual = Usual(all, ratio - 1);
  for (const auto& [number, stage] : stages) {
    if (usual <= 0 || stage.computing < ratio * usual) continue;
    Finding finding;
    finding.id = "pipe.stage";
    finding.key = "pipe.stage/" + std::to_string(number);
    finding.title = "stage " + std::to_string(number) + " of the pipeline (ranks " +
                    RankList(context.job, stage.ranks) + ") computes " +
                    PercentOf(stage.computing / usual - 1) + " longer than the others";
    finding.where = WhereOf(context.job, stage.ranks);
    finding.steps = AllSteps(context);
    finding.evidence.push_back(StageTable(context, stages));
    finding.advice = {"give that stage fewer layers: the last one has the head and the loss, too"};
    finding.factors = {Occurrences(context.steps())};
    finding.without = [ranks = stage.ranks, factor = usual / stage.computing, &context](const Replay& replay,
                                                                                        Lengths& lengths) {
      for (const uint32_t r : ranks) ScaleComputing(context, replay, lengths, r, factor);
    };
    found.findings.push_back(std::move(finding));
  }
}

void FindBubbles(const Context& context, Found& found) {
  const std::map<int, Stage> stages = StagesOf(context);
  if (stages.size() < 2) return;
  const size_t batches = BatchesOf(context);
  double busiest = 0;
  std::vector<uint32_t> ranks;
  for (const auto& [number, stage] : stages) {
    busiest = std::max(busiest, stage.busy);
    ranks.insert(ranks.end(), stage.ranks.begin(), stage.ranks.end());
  }
  if (batches == 0 || busiest <= 0 || context.step_ns <= busiest) return;
  const auto p = static_cast<double>(stages.size()), m = static_cast<double>(batches);
  const double expected = (p - 1) / (m + p - 1), share = 1 - busiest / context.step_ns;
  const double least = context.Get("pipe.bubble_ratio");
  // What is beside the pipeline, an optimizer or the input, is no bubble: a few percent more are none.
  constexpr double kBeside = 0.05;
  if (share < least * expected + kBeside) return;
  Finding finding;
  finding.id = "pipe.bubble";
  finding.key = "pipe.bubble";
  finding.title = "the pipeline's busiest stage has nothing to do for " + PercentOf(share) + " of a step; " +
                  std::to_string(batches) + " batches on " + std::to_string(stages.size()) + " stages need " +
                  PercentOf(expected);
  finding.where.ranks = WhereOf(context.job, ranks).ranks;
  finding.steps = AllSteps(context);
  finding.evidence.push_back(StageTable(context, stages));
  finding.advice = {
      "look at the schedule: let a stage begin the next batch before the one before is back, or more "
      "batches"};
  finding.cost.method = Method::kHeuristic;
  const double ideal = busiest / (1 - expected);
  SetBound(context, finding, (context.step_ns - ideal) * static_cast<double>(context.steps()));
  finding.factors = {{"method", 0.6, "an upper bound: as if stages were equal and messages took no time"}};
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
