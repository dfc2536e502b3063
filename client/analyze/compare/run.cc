#include "client/analyze/compare/run.h"

#include <algorithm>
#include <tuple>

#include "client/analyze/job.h"

namespace profd::analyze {
namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr double kMs = 1e6;
constexpr Ns kStop = 50'000;  // between two calls: the host does something else

}  // namespace

std::string_view ShareName(Share part) {
  constexpr std::string_view kNames[] = {"step", "compute", "communication, data", "communication, waiting",
                                         "idle"};
  return kNames[static_cast<size_t>(part)];
}

Result<std::unique_ptr<Run>> Run::Read(const std::vector<std::string>& paths, const Settings& settings,
                                       unsigned jobs) {
  PROFD_ASSIGN_OR_RETURN(Job job, ReadJob(paths, jobs));
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
  MeasureHosts();
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
  by_step_.assign(kinds_.size() * steps, 0);
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
      by_step_[kind * steps + step - context_.first] += static_cast<float>(length);
    }
    for (Amount& amount : kernels_[r]) {
      amount.ns /= static_cast<double>(steps);
      amount.count /= static_cast<double>(steps);
    }
  }
}

std::vector<double> Run::KindSeries(uint32_t kind) const {
  const size_t steps = context_.steps();
  std::vector<double> series;
  for (size_t i = 0; i < steps; ++i)
    series.push_back(static_cast<double>(by_step_[kind * steps + i]) /
                     static_cast<double>(job_.ranks.size()));
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
    if (is_new) {
      collective_kinds_.push_back(known->first);
      transfers_.emplace_back();
    }
    kind_of_match_.push_back(known->second);
  }
  transfers_of_.assign(job_.ranks.size(), std::vector<Amount>(collective_kinds_.size()));
  const double once = 1 / static_cast<double>(context_.steps());
  for (size_t i = 0; i < matches_.all.size(); ++i) {
    const Match& match = matches_.all[i];
    if (match.step < context_.first || match.step == kNone) continue;
    const auto add = [&](Amount& amount) {
      amount.ns += static_cast<double>(replay_.Transfer(i)) * once;
      amount.count += once;
    };
    add(transfers_[kind_of_match_[i]]);
    for (const Match::Member& member : match.members) add(transfers_of_[member.rank][kind_of_match_[i]]);
  }
}

Ns Run::Between(size_t r, size_t i) const {
  const Rank& rank = job_.ranks[r];
  if (i == 0 || replay_.PauseOf(r, i) != kNone) return 0;
  return std::max<Ns>(0, rank.calls[i].begin - rank.calls[i - 1].end);
}

Ns Run::HostOf(size_t r, size_t i) const {
  const Ns between = Between(r, i);
  return i == 0 ? 0 : (between < kStop ? between : 0) + std::max<Ns>(0, replay_.OwnTime(r, i - 1));
}

Ns Run::StopOf(size_t r, size_t i) const {
  const Ns between = Between(r, i);
  return between < kStop ? 0 : between;
}

Ns Run::GapOf(size_t r, size_t i) const { return std::max<Ns>(0, replay_.Kept(r, i)); }

void Run::MeasureHosts() {
  host_.assign(job_.ranks.size(), 0);
  stops_ = gaps_ = host_;
  for (size_t r = 0; r < job_.ranks.size(); ++r) {
    const Rank& rank = job_.ranks[r];
    std::vector<bool> counts(rank.calls.size());  // calls of tasks of steps that are analysed
    for (size_t i = 0; i < rank.tasks.size(); ++i) {
      if (context_.StepOf(rank, rank.tasks[i].step) == kNone) continue;
      gaps_[r] += static_cast<double>(GapOf(r, i));
      if (rank.tasks[i].launch != kNone) counts[rank.tasks[i].launch] = true;
    }
    const auto first = std::ranges::find(counts, true) - counts.begin();
    for (auto i = static_cast<size_t>(first); i < counts.size(); ++i) {
      host_[r] += static_cast<double>(HostOf(r, i));
      stops_[r] += static_cast<double>(StopOf(r, i));
    }
    for (double* const sum : {&host_[r], &stops_[r], &gaps_[r]})
      *sum /= static_cast<double>(context_.steps());
  }
}

// By the places that ranks have in groups with a name (tp, pp, dp); else by number.
void Run::FindRoles() {
  const auto place = [this](uint32_t r) {
    const Rank& rank = job_.ranks[r];
    std::vector<std::pair<std::string, int64_t>> places;
    for (const auto& [name, group] : rank.groups) {
      const auto own = std::ranges::find(group.ranks, rank.number);
      if (!group.role.empty() && own != group.ranks.end())
        places.emplace_back(group.role, own - group.ranks.begin());
    }
    std::ranges::sort(places);
    return std::tuple(places, rank.number);
  };
  for (uint32_t r = 0; r < job_.ranks.size(); ++r) {
    if (context_.peers[r].front() != r) continue;
    roles_.push_back(context_.peers[r]);
    std::ranges::sort(roles_.back(), {}, place);
  }
}

}  // namespace profd::analyze
