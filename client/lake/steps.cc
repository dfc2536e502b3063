#include "client/lake/steps.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <unordered_map>

namespace profd::lake {
namespace {

using analyze::Analysis;
using analyze::Collective;
using analyze::kNone;
using analyze::Ns;
using analyze::Rank;
using analyze::Task;
using analyze::TextId;
using analyze::Work;

// "tp", "dp_cp", "exp" → its place in kRoles.
std::optional<size_t> RoleOf(const Rank& rank, std::string_view group) {
  const auto known = rank.groups.find(std::string(group));
  if (known == rank.groups.end()) return std::nullopt;
  const std::string_view role = known->second.role;
  if (role.starts_with("exp")) return 3;
  for (size_t i = 0; i < kRoles.size(); ++i) {
    if (role.starts_with(kRoles[i])) return i;
  }
  return std::nullopt;
}

class Sums {
 public:
  Sums(const Analysis& analysis, const Rank& rank, std::vector<StepRow>& rows)
      : analysis_(analysis), rank_(rank), rows_(rows), weights_(rows.size()), times_(rows.size()) {
    for (StepRow& row : rows_) row.wait = row.bytes = 0;
  }

  void Add(const Task& task) {
    if (task.step == kNone) return;
    if (task.work == Work::kCollective) {
      if (task.kind < rank_.collectives.size()) AddCollective(task.step, rank_.collectives[task.kind]);
      return;
    }
    times_[task.step][task.name] += task.end - task.begin;
    if (task.work == Work::kCompute) AddClock(task);
  }
  void Finish() {
    for (size_t i = 0; i < rows_.size(); ++i) {
      if (weights_[i] > 0) *rows_[i].mhz /= weights_[i];
      // Of two that take the same, the one that was named first.
      std::vector<std::pair<Ns, TextId>> order;
      order.reserve(times_[i].size());
      for (const auto& [name, ns] : times_[i]) order.emplace_back(-ns, name);
      const size_t count = std::min(order.size(), rows_[i].top.size());
      std::ranges::partial_sort(order, order.begin() + static_cast<ptrdiff_t>(count));
      for (size_t k = 0; k < count; ++k) rows_[i].top[k] = {order[k].second, -order[k].first};
    }
  }

 private:
  // One that is not known makes the sum none.
  static void Sum(auto& sum, std::optional<int64_t> more) {
    sum = sum && more ? std::optional<int64_t>(*sum + *more) : std::nullopt;
  }

  void AddCollective(uint32_t step, const Collective& collective) {
    StepRow& row = rows_[step];
    const std::optional<Ns> wait = WaitOf(analysis_, collective);
    Sum(row.wait, wait);
    Sum(row.bytes,
        collective.bytes == 0 ? std::nullopt : std::optional(static_cast<int64_t>(collective.bytes)));
    const auto [at, is_new] = roles_.try_emplace(collective.group);
    if (is_new) at->second = RoleOf(rank_, analysis_.job().Text(collective.group));
    if (at->second && wait) row.wait_of[*at->second] = row.wait_of[*at->second].value_or(0) + *wait;
  }

  // As model/clock.h: by the time of the kernels.
  void AddClock(const Task& task) {
    const auto& looks = rank_.frequencies;
    while (clock_ + 1 < looks.size() && looks[clock_ + 1].at <= task.begin) ++clock_;
    if (looks.empty() || looks[clock_].at > task.begin) return;
    const auto length = static_cast<double>(task.end - task.begin);
    weights_[task.step] += length;
    rows_[task.step].mhz = rows_[task.step].mhz.value_or(0) + length * looks[clock_].mhz;
  }

  const Analysis& analysis_;
  const Rank& rank_;
  std::vector<StepRow>& rows_;
  std::vector<double> weights_;
  std::vector<std::unordered_map<TextId, Ns>> times_;
  std::unordered_map<TextId, std::optional<size_t>> roles_;
  size_t clock_ = 0;
};

}  // namespace

std::optional<Ns> WaitOf(const Analysis& analysis, const Collective& collective) {
  if (collective.match == kNone) return std::nullopt;
  return std::max<Ns>(
      0, collective.end - collective.begin - analysis.context().replay.Transfer(collective.match));
}

StepRows::StepRows(const Analysis& analysis, size_t number) {
  const Rank& rank = analysis.job().ranks[number];
  rows_.resize(rank.steps.size());
  Sums sums(analysis, rank, rows_);
  for (const Task& task : rank.tasks) sums.Add(task);
  sums.Finish();
  for (size_t i = 0; i < rows_.size(); ++i) {
    rows_[i].shares = analysis.context().shares[number][i];
    for (const analyze::Lost& lost : rank.lost) {
      if (lost.from < rank.steps[i].end && lost.to > rank.steps[i].begin)
        rows_[i].lost += static_cast<int64_t>(lost.records);
    }
  }
}

}  // namespace profd::lake
