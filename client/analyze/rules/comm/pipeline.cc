// Pipelines: stages that have more to do than others, and time that no stage's work explains.
#include <algorithm>
#include <map>
#include <set>

#include "client/analyze/model/statistics.h"
#include "client/analyze/rules/rules.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostStages = 50;  // in a table

// Of one stage: what its ranks compute in a step, and how many batches they are given.
struct Stage {
  std::vector<uint32_t> ranks;
  double computing = 0;   // ns of a step: what half of its ranks have at least
  double busy = 0;        // the same with what they wait for within the stage: all but messages and idle time
  bool is_whole = false;  // of one of its ranks all that it did is known
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
      if (rank.gaps.any()) continue;
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
    stage.is_whole = !computing.empty();
    if (!stage.is_whole) continue;
    // The lower one in the middle: of two ranks one that is slow makes no heavy stage.
    const auto middle = computing.begin() + (std::ssize(computing) - 1) / 2;
    std::ranges::nth_element(computing, middle);
    stage.computing = *middle;
    stage.busy = Median(busy);
  }
  return stages;
}

std::vector<uint32_t> StagedRanks(const Context& context) {
  std::vector<uint32_t> ranks;
  for (uint32_t r = 0; r < context.stage.size(); ++r) {
    if (context.stage[r] >= 0) ranks.push_back(r);
  }
  return ranks;
}

Table StageTable(const Context& context, const std::map<int, Stage>& stages) {
  Table table{"stages", {"stage", "ranks", "computing_ms", "busy_ms", "part_of_step"}, {}};
  for (const auto& [number, stage] : stages) {
    if (table.rows.size() < kMostStages)
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
  for (const auto& [number, stage] : stages) {
    if (stage.is_whole) all.push_back(stage.computing);
  }
  if (all.size() < 2) return;
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

namespace {

// Messages that a rank gets and sends within a step, by time.
struct Messages {
  struct Receive {
    Ns begin = 0, end = 0;
  };
  std::vector<Receive> received;
  Ns last_sent = INT64_MIN;  // when it had the last one ready
  Ns first_kernel = INT64_MAX, last_kernel = INT64_MIN;

  Ns Waited() const {
    Ns sum = 0;
    for (const Receive& one : received) sum += one.end - one.begin;
    return sum;
  }
  // What it has to do itself for all batches: what is before the first of them and behind the last one, like
  // an optimizer, belongs to none.
  Ns Work(bool is_first_stage) const {
    if (received.empty()) return 0;
    if (!is_first_stage)
      return std::max(last_sent, received.back().end) - received.front().end - Waited() +
             (received.front().end - received.front().begin);
    // Nobody is sent the last batch of the first stage: it takes as long as the one before.
    const Ns last = received.size() > 1 ? received.back().begin - received[received.size() - 2].end
                                        : std::max<Ns>(0, last_kernel - received.back().end);
    return received.back().end - first_kernel - Waited() + last;
  }
};

// By step that is analysed.
std::vector<Messages> MessagesOf(const Context& context, uint32_t r) {
  const Rank& rank = context.job.ranks[r];
  std::vector<Messages> all(context.steps());
  for (const Task& task : rank.tasks) {
    const uint32_t step = context.StepOf(rank, task.step);
    if (step == kNone) continue;
    Messages& of = all[step - context.first];
    if (task.work == Work::kCompute) {
      of.first_kernel = std::min(of.first_kernel, task.begin);
      of.last_kernel = std::max(of.last_kernel, task.end);
    }
    if (task.work != Work::kCollective) continue;
    const Collective& message = rank.collectives[task.kind];
    if (message.match == kNone || !context.matches.all[message.match].is_pair) continue;
    if (IsSend(context.job.Text(message.type))) {
      of.last_sent = std::max(of.last_sent, task.begin);
    } else {
      of.received.push_back({task.begin, task.end});
    }
  }
  return all;
}

// What messages cost a step while they are on their way: as if they took no time.
double CostOfMessages(const Context& context) {
  Lengths lengths;
  std::vector<Ns>& less = context.replay.TouchMatches(lengths);
  for (size_t i = 0; i < less.size(); ++i) {
    if (context.matches.all[i].is_pair) less[i] = context.replay.Transfer(i);
  }
  return std::max(0.0, context.step_ns - context.replay.Run(&lengths).Mean(context.first));
}

// How a pipeline spends a step; ns of a step.
struct Schedule {
  size_t stages = 0, batches = 0;
  double waits = 0;     // of the first stage for the others, without what messages take
  double messages = 0;  // what these take, as a replay has it
  double ideal = 0;     // what the first stage has to wait for, as long as batches take on the stages
  double work = 0;      // of the stage with most of it
  Table table;
  double Share() const {  // that the best schedule leaves idle
    return static_cast<double>(stages - 1) / static_cast<double>(batches + stages - 1);
  }
};

Schedule ScheduleOf(const Context& context) {
  Schedule schedule;
  const std::map<int, Stage> stages = StagesOf(context);
  schedule.stages = stages.size();
  schedule.batches = BatchesOf(context);
  const bool is_whole = std::ranges::all_of(stages, [](const auto& of) { return of.second.is_whole; });
  if (schedule.stages < 2 || schedule.batches == 0 || !is_whole) return schedule;
  schedule.table = {"stages", {"stage", "ranks", "work_ms", "waits_ms"}, {}};
  double first = 0, sum = 0;
  for (const auto& [number, stage] : stages) {
    // The slowest of its ranks holds up the others.
    double work = 0;
    std::vector<double> waits;
    for (const uint32_t r : stage.ranks) {
      std::vector<double> own_work, own_waits;
      for (const Messages& of : MessagesOf(context, r)) {
        own_work.push_back(static_cast<double>(of.Work(number == 0)));
        own_waits.push_back(static_cast<double>(of.Waited()));
      }
      work = std::max(work, Median(std::move(own_work)));
      waits.push_back(Median(std::move(own_waits)));
    }
    const double waited = Median(std::move(waits));
    if (number == 0) first = work, schedule.waits = waited;
    schedule.work = std::max(schedule.work, work);
    sum += work;
    if (schedule.table.rows.size() < kMostStages)
      schedule.table.rows.push_back(
          {int64_t{number}, RankList(context.job, stage.ranks), work / 1e6, waited / 1e6});
  }
  const auto m = static_cast<double>(schedule.batches);
  schedule.ideal = sum / m + (m - 1) / m * schedule.work - first;
  schedule.messages = CostOfMessages(context);
  schedule.waits = std::max(0.0, schedule.waits - schedule.messages);
  return schedule;
}

// So few that even the best schedule leaves stages idle for long: how it is, and no fault of the schedule.
void TellOfFewBatches(const Context& context, Schedule schedule, Found& found) {
  constexpr double kMany = 4;  // for each stage: then little is left to gain
  const auto stages = static_cast<double>(schedule.stages), m = static_cast<double>(schedule.batches);
  if (m >= context.Get("pipe.batches_per_stage") * stages) return;
  const double gain = schedule.work * (stages - 1) * (1 / m - 1 / (kMany * stages));
  std::vector<bool> hit(context.job.steps.size());
  for (const uint32_t step : AllSteps(context)) hit[step] = true;
  Finding finding = Fact(context.job, "pipe.bubble", Severity::kInfo, StagedRanks(context), hit);
  finding.key = "pipe.bubble/batches";
  finding.title = "the pipeline has " + std::to_string(schedule.batches) + " batches for " +
                  std::to_string(schedule.stages) + " stages: even the best schedule leaves them idle for " +
                  PercentOf(schedule.Share()) + " of its time; " +
                  std::to_string(static_cast<size_t>(kMany) * schedule.stages) +
                  " smaller ones would save up to " + Time(gain) + " of a step";
  finding.evidence.push_back(std::move(schedule.table));
  finding.advice = {"split a step into more and smaller batches, if kernels stay large enough"};
  SetBound(context, finding, gain * static_cast<double>(context.steps()));
  finding.factors = {{"method", 0.6, "an upper bound: as if smaller kernels were as good"}};
  found.findings.push_back(std::move(finding));
}

}  // namespace

void FindBubbles(const Context& context, Found& found) {
  Schedule schedule = ScheduleOf(context);
  // A single message of a step may be any exchange between ranks, as in a ring.
  if (schedule.batches < 2 || schedule.ideal <= 0 || schedule.work <= 0) return;
  // Batches that differ, and calls that come late now and then, are no schedule: a few percent are neither.
  constexpr double kBeside = 0.05;
  if (schedule.waits < context.Get("pipe.bubble_ratio") * schedule.ideal + kBeside * context.step_ns) {
    TellOfFewBatches(context, std::move(schedule), found);
    return;
  }
  Finding finding;
  finding.id = "pipe.bubble";
  finding.key = "pipe.bubble";
  finding.title = "the first stage of the pipeline waits " + Time(schedule.waits) +
                  " of a step for the others, messages not counted; " + std::to_string(schedule.batches) +
                  " batches on " + std::to_string(schedule.stages) + " stages need " + Time(schedule.ideal);
  finding.where.ranks = WhereOf(context.job, StagedRanks(context)).ranks;
  finding.steps = AllSteps(context);
  finding.advice = {
      "look at the schedule: let a stage begin the next batch before the one before is back, or more "
      "batches"};
  SetBound(context, finding, (schedule.waits - schedule.ideal) * static_cast<double>(context.steps()));
  finding.factors = {{"method", 0.6, "as if each batch took as long as the others of its stage"}};
  finding.evidence.push_back(std::move(schedule.table));
  found.findings.push_back(std::move(finding));
}

}  // namespace profd::analyze
