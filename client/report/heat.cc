#include "client/report/heat.h"

#include <algorithm>
#include <numeric>

#include "client/analyze/model/statistics.h"

namespace profd::report {
namespace {

constexpr double kMs = 1e6;
constexpr size_t kMostCells = 1u << 20;

size_t StepsEach(const View& view) {
  const size_t cells = view.job.ranks.size() * view.steps.size();
  return std::max<size_t>(1, (cells + kMostCells - 1) / kMostCells);
}

Ns Arrival(const View& view, const analyze::Match::Member& member) {
  return view.job.ranks[member.rank].collectives[member.collective].begin;
}

}  // namespace

Heat HeatOf(const View& view) {
  const size_t ranks = view.job.ranks.size(), steps = view.steps.size();
  Heat heat;
  heat.steps_each = StepsEach(view);
  heat.columns = (steps + heat.steps_each - 1) / heat.steps_each;
  heat.measures = {
      {"late",
       "Late",
       "how much later than the middle of its group a rank comes to collectives, ms of a step",
       {}},
      {"wait", "Waiting", "time in collectives before the last rank has come, ms of a step", {}},
      {"step", "Step", "how long the step takes on the rank, ms", {}},
      {"compute", "Compute", "kernels, ms of a step", {}},
      {"comm", "Exposed", "communication that no kernel hides, ms of a step", {}},
      {"idle", "Idle", "neither kernels nor communication, ms of a step", {}},
  };
  enum { kLate, kWait, kStep, kCompute, kComm, kIdle };
  std::vector<std::vector<double>> cells(heat.measures.size(), std::vector<double>(ranks * steps));
  const analyze::Context& context = view.analysis.context();
  for (size_t r = 0; r < ranks; ++r) {
    const analyze::Rank& rank = view.job.ranks[r];
    for (size_t i = 0; i < rank.steps.size(); ++i) {
      if (rank.job_step[i] == analyze::kNone) continue;
      const size_t at = r * steps + rank.job_step[i];
      const analyze::StepShares& shares = context.shares[r][i];
      cells[kStep][at] = static_cast<double>(shares.step) / kMs;
      cells[kCompute][at] = static_cast<double>(shares.computing) / kMs;
      cells[kComm][at] = static_cast<double>(shares.exposed) / kMs;
      cells[kIdle][at] = static_cast<double>(std::max<Ns>(shares.free, 0)) / kMs;
    }
  }
  const auto& matches = view.analysis.matches().all;
  std::vector<Ns> arrivals;
  for (size_t m = 0; m < matches.size(); ++m) {
    const analyze::Match& match = matches[m];
    if (match.step >= steps || match.is_pair) continue;
    arrivals.clear();
    for (const auto& member : match.members) arrivals.push_back(Arrival(view, member));
    std::ranges::nth_element(arrivals, arrivals.begin() + static_cast<ptrdiff_t>(arrivals.size() / 2));
    // Of two the earlier one is the middle.
    const Ns middle =
        arrivals.size() == 2 ? std::min(arrivals[0], arrivals[1]) : arrivals[arrivals.size() / 2];
    const Ns last = context.replay.LastArrival(m);
    for (const auto& member : match.members) {
      const auto& collective = view.job.ranks[member.rank].collectives[member.collective];
      const size_t at = member.rank * steps + match.step;
      cells[kLate][at] += static_cast<double>(std::max<Ns>(0, collective.begin - middle)) / kMs;
      cells[kWait][at] +=
          static_cast<double>(std::max<Ns>(0, std::min(last, collective.end) - collective.begin)) / kMs;
    }
  }
  if (matches.empty()) heat.measures.erase(heat.measures.begin(), heat.measures.begin() + kStep);
  const size_t skipped = matches.empty() ? kStep : 0;
  for (size_t i = 0; i < heat.measures.size(); ++i) {
    std::vector<float>& out = heat.measures[i].ms;
    out.assign(ranks * heat.columns, 0);
    for (size_t r = 0; r < ranks; ++r) {
      for (size_t s = 0; s < steps; ++s) {
        float& cell = out[r * heat.columns + s / heat.steps_each];
        cell = std::max(cell, static_cast<float>(cells[i + skipped][r * steps + s]));
      }
    }
  }
  return heat;
}

Waits WaitsOf(const View& view) {
  constexpr size_t kMostWaiting = 40, kMostWaitedFor = 24;
  const size_t ranks = view.job.ranks.size();
  const analyze::Context& context = view.analysis.context();
  Waits waits;
  std::map<std::pair<size_t, size_t>, double> cells;
  std::vector<double> waiting(ranks), caused(ranks);
  const auto& matches = view.analysis.matches().all;
  const double per_step = kMs * static_cast<double>(std::max<size_t>(context.steps(), 1));
  for (size_t m = 0; m < matches.size(); ++m) {
    const analyze::Match& match = matches[m];
    if (match.step < context.first || match.step >= view.steps.size() || match.is_pair) continue;
    const auto last = std::ranges::max_element(
        match.members, {}, [&](const analyze::Match::Member& member) { return Arrival(view, member); });
    const Ns there = Arrival(view, *last);
    for (const auto& member : match.members) {
      const auto& collective = view.job.ranks[member.rank].collectives[member.collective];
      const Ns waited = std::min(there, collective.end) - collective.begin;
      if (waited <= 0) continue;
      const double ms = static_cast<double>(waited) / per_step;
      cells[{member.rank, last->rank}] += ms;
      waiting[member.rank] += ms;
      caused[last->rank] += ms;
    }
  }
  const auto most = [](const std::vector<double>& of, size_t count) {
    std::vector<size_t> which(of.size());
    std::iota(which.begin(), which.end(), 0);
    std::ranges::stable_sort(which, std::greater<>(), [&of](size_t i) { return of[i]; });
    which.resize(std::min(which.size(), count));
    std::ranges::sort(which);
    return which;
  };
  waits.waiting = most(waiting, kMostWaiting);
  waits.waited_for = most(caused, kMostWaitedFor);
  waits.is_whole = waits.waiting.size() == ranks && waits.waited_for.size() == ranks;
  for (const size_t row : waits.waiting) {
    for (const size_t column : waits.waited_for) {
      const auto at = cells.find({row, column});
      waits.ms.push_back(at == cells.end() ? 0 : at->second);
    }
  }
  waits.all_ms = analyze::Mean(waiting);
  return waits;
}

}  // namespace profd::report
