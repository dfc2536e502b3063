#include "client/analyze/compare/run.h"

#include <algorithm>
#include <tuple>

#include "client/analyze/job.h"

namespace profd::analyze {
namespace {

using base::Result;

constexpr double kMs = 1e6;
constexpr Ns kStop = 50'000;  // so long between two calls: the host does something else

}  // namespace

std::string_view ShareName(Share part) {
  constexpr std::string_view kNames[] = {"step", "compute", "communication, data", "communication, waiting",
                                         "idle"};
  return kNames[static_cast<size_t>(part)];
}

Result<std::unique_ptr<Run>> Run::Read(const std::vector<std::string>& paths, const Settings& settings,
                                       unsigned jobs) {
  PROFD_ASSIGN_OR_RETURN(Job job, ReadJob(paths, {.jobs = jobs, .recursive = true}));
  return std::unique_ptr<Run>(new Run(std::move(job), settings, jobs));
}

Run::Run(Job job, const Settings& settings, unsigned jobs)
    : settings_(settings),
      job_(std::move(job)),
      matches_(MatchCollectives(job_)),
      clocks_(AlignClocks(job_, matches_)),
      replay_(job_, matches_, jobs),
      context_(MakeContext(job_, matches_, clocks_, replay_, settings_, jobs)) {
  MeasureParts();
  MeasureKernels();
  MeasureTransfers();
  FindItems();
  FindRoles();
}

void Run::MeasureParts() {
  const size_t steps = context_.steps();
  for (auto& part : parts_) part.assign(steps, 0);
  of_rank_.assign(job_.ranks.size(), {});
  const auto ranks = static_cast<double>(job_.ranks.size());
  const auto at = [](Share part) { return static_cast<size_t>(part); };
  for (size_t i = 0; i < steps; ++i)
    parts_[at(Share::kStep)][i] = static_cast<double>(context_.step_times[i]) / kMs;
  for (size_t r = 0; r < job_.ranks.size(); ++r) {
    const Rank& rank = job_.ranks[r];
    std::vector<Ns> data(steps);
    for (const Collective& collective : rank.collectives) {
      const uint32_t step = context_.StepOf(rank, collective.step);
      if (collective.match == kNone || step == kNone) continue;
      data[step - context_.first] +=
          std::min(replay_.Transfer(collective.match), collective.end - collective.begin);
    }
    for (size_t i = 0; i < rank.steps.size(); ++i) {
      const uint32_t shared = context_.StepOf(rank, static_cast<uint32_t>(i));
      if (shared == kNone) continue;
      const size_t step = shared - context_.first;
      const StepShares& shares = context_.shares[r][i];
      const double all = static_cast<double>(shares.communication);
      const double part = all > 0 ? std::min(1.0, static_cast<double>(data[step]) / all) : 1;
      const double exposed = static_cast<double>(shares.exposed) / kMs;
      std::array<double, kParts> own{};
      own[at(Share::kStep)] = parts_[at(Share::kStep)][step];
      own[at(Share::kCompute)] = static_cast<double>(shares.computing) / kMs;
      own[at(Share::kTransfer)] = exposed * part;
      own[at(Share::kWaiting)] = exposed * (1 - part);
      own[at(Share::kIdle)] = own[at(Share::kStep)] - own[at(Share::kCompute)] - exposed;
      for (size_t k = 0; k < kParts; ++k) {
        of_rank_[r][k] += own[k] / static_cast<double>(steps);
        if (k != at(Share::kStep)) parts_[k][step] += own[k] / ranks;
      }
    }
  }
}

void Run::MeasureKernels() {
  std::map<Kind, uint32_t> numbers;
  for (const KernelClass& one : job_.classes) {
    const auto [known, is_new] =
        numbers.try_emplace({std::string(job_.Text(one.type)), std::string(job_.Text(one.shapes)), one.work},
                            static_cast<uint32_t>(kinds_.size()));
    if (is_new) kinds_.push_back(known->first);
    kind_of_class_.push_back(known->second);
  }
  const size_t steps = context_.steps();
  kernel_series_.assign(kinds_.size() * steps, 0);
  kernels_.assign(job_.ranks.size(), std::vector<Amount>(kinds_.size()));
  for (size_t r = 0; r < job_.ranks.size(); ++r) {
    const Rank& rank = job_.ranks[r];
    for (const Task& task : rank.tasks) {
      if (task.work == Work::kCollective || task.kind == kNone) continue;
      const uint32_t step = context_.StepOf(rank, task.step);
      if (step == kNone) continue;
      const uint32_t kind = kind_of_class_[task.kind];
      const auto length = static_cast<double>(task.end - task.begin);
      kernels_[r][kind].ns += length;
      kernels_[r][kind].count += 1;
      kernel_series_[kind * steps + step - context_.first] += length;
    }
    for (Amount& amount : kernels_[r]) {
      amount.ns /= static_cast<double>(steps);
      amount.count /= static_cast<double>(steps);
    }
  }
}

std::vector<double> Run::KernelSeries(uint32_t kind) const { return SeriesOf(kernel_series_, kind); }
std::vector<double> Run::TransferSeries(uint32_t kind) const { return SeriesOf(transfer_series_, kind); }

std::vector<double> Run::SeriesOf(const std::vector<double>& sums, uint32_t kind) const {
  const size_t steps = context_.steps();
  std::vector<double> series;
  for (size_t i = 0; i < steps; ++i)
    series.push_back(sums[kind * steps + i] / static_cast<double>(job_.ranks.size()));
  return series;
}

void Run::MeasureTransfers() {
  std::map<Kind, uint32_t> numbers;
  for (size_t i = 0; i < matches_.all.size(); ++i) {
    const Match& match = matches_.all[i];
    const std::string size =
        std::to_string(match.bytes) + " bytes, " + std::to_string(match.members.size()) + " ranks";
    const auto [known, is_new] =
        numbers.try_emplace({std::string(job_.Text(match.type)), size, Work::kCollective},
                            static_cast<uint32_t>(collective_kinds_.size()));
    if (is_new) collective_kinds_.push_back(known->first);
    kind_of_match_.push_back(known->second);
  }
  const size_t steps = context_.steps();
  transfer_series_.assign(collective_kinds_.size() * steps, 0);
  transfers_of_.assign(job_.ranks.size(), std::vector<Amount>(collective_kinds_.size()));
  const double once = 1 / static_cast<double>(steps);
  for (size_t i = 0; i < matches_.all.size(); ++i) {
    const Match& match = matches_.all[i];
    if (match.step == kNone || match.step < context_.first) continue;
    const uint32_t kind = kind_of_match_[i];
    const auto length = static_cast<double>(replay_.Transfer(i));
    for (const Match::Member& member : match.members) {
      transfers_of_[member.rank][kind].ns += length * once;
      transfers_of_[member.rank][kind].count += once;
      transfer_series_[kind * steps + match.step - context_.first] += length;
    }
  }
}

Ns Run::InFrontOf(Before what, size_t r, uint32_t i) const {
  if (what == Before::kTask) return std::max<Ns>(0, replay_.Kept(r, i));
  if (i == 0) return 0;
  const Rank& rank = job_.ranks[r];
  const Ns between =
      replay_.PauseOf(r, i) != kNone ? 0 : std::max<Ns>(0, rank.calls[i].begin - rank.calls[i - 1].end);
  if (what == Before::kStop) return between < kStop ? 0 : between;
  return (between < kStop ? between : 0) + std::max<Ns>(0, replay_.OwnTime(r, i - 1));
}

// A call is of the step in which it begins.
void Run::FindItems() {
  calls_.assign(job_.ranks.size(), std::vector<std::vector<uint32_t>>(context_.steps()));
  tasks_ = calls_;
  for (size_t r = 0; r < job_.ranks.size(); ++r) {
    const Rank& rank = job_.ranks[r];
    const auto add = [&](std::vector<std::vector<uint32_t>>& items, uint32_t step, uint32_t item) {
      const uint32_t shared = context_.StepOf(rank, step);
      if (shared != kNone) items[shared - context_.first].push_back(item);
    };
    for (uint32_t i = 0; i < rank.tasks.size(); ++i) add(tasks_[r], rank.tasks[i].step, i);
    uint32_t step = kNone, next = 0;
    for (uint32_t i = 0; i < rank.calls.size(); ++i) {
      for (; next < rank.steps.size() && rank.steps[next].begin <= rank.calls[i].begin; ++next) step = next;
      add(calls_[r], step, i);
    }
  }
}

Run::Place Run::PlaceOf(size_t r) const {
  Place place;
  const Rank& rank = job_.ranks[r];
  for (const auto& [name, group] : rank.groups) {
    const auto own = std::ranges::find(group.ranks, rank.number);
    if (!group.role.empty() && own != group.ranks.end())
      place.emplace_back(group.role, own - group.ranks.begin());
  }
  std::ranges::sort(place);
  return place;
}

void Run::FindRoles() {
  for (uint32_t r = 0; r < job_.ranks.size(); ++r) {
    if (context_.peers[r].front() != r) continue;
    roles_.push_back(context_.peers[r]);
    std::ranges::sort(roles_.back(), {}, [this](uint32_t member) {
      return std::tuple(PlaceOf(member), job_.ranks[member].number);
    });
  }
}

}  // namespace profd::analyze
