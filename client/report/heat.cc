#include "client/report/heat.h"

#include <algorithm>
#include <map>
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

Ns Middle(std::vector<Ns> times) {
  if (times.empty()) return 0;
  // Of two the smaller one is the middle.
  const auto middle = times.begin() + static_cast<ptrdiff_t>((times.size() - 1) / 2);
  std::ranges::nth_element(times, middle);
  return *middle;
}

// Ends of the last collectives of a rank, to find the one before another begins.
struct Past {
  static constexpr size_t kMost = 8;  // on streams beside each other
  std::vector<Ns> ends;
  void Add(Ns end) {
    if (ends.size() == kMost) ends.erase(ends.begin());
    ends.push_back(end);
  }
  // The latest one up to `at`; 0: none.
  Ns Before(Ns at) const {
    Ns found = 0;
    for (const Ns end : ends) {
      if (end <= at) found = std::max(found, end);
    }
    return found;
  }
};

}  // namespace

Blame::Blame(const View& view) {
  const auto& matches = view.analysis.matches().all;
  blamed_.assign(matches.size(), 0);
  late_.resize(matches.size());
  std::vector<size_t> order(matches.size());
  std::iota(order.begin(), order.end(), 0);
  const analyze::Replay& replay = view.analysis.context().replay;
  std::ranges::stable_sort(order, {}, [&replay](size_t m) { return replay.LastArrival(m); });
  std::vector<Past> past(view.job.ranks.size());
  // By rank: for whom it has waited in the step that goes on, and how long.
  std::vector<std::map<size_t, Ns>> waited(view.job.ranks.size());
  std::vector<uint32_t> step(view.job.ranks.size(), analyze::kNone);
  std::vector<Ns> arrivals, lengths;
  for (const size_t m : order) {
    const auto& members = matches[m].members;
    if (members.empty()) continue;
    arrivals.clear();
    lengths.clear();
    for (const auto& member : members) {
      arrivals.push_back(Arrival(view, member));
      const Ns before = past[member.rank].Before(arrivals.back());
      lengths.push_back(arrivals.back() - (before == 0 ? view.begin : before));
      if (step[member.rank] != matches[m].step) waited[member.rank].clear();
      step[member.rank] = matches[m].step;
    }
    const Ns middle = Middle(arrivals), usual = Middle(lengths);
    size_t last = 0, first = 0;
    for (size_t i = 0; i < members.size(); ++i) {
      late_[m].push_back(std::max<Ns>(0, std::min(arrivals[i] - middle, lengths[i] - usual)));
      if (arrivals[i] > arrivals[last]) last = i;
      if (arrivals[i] < arrivals[first]) first = i;
    }
    blamed_[m] = members[last].rank;
    Ns most = late_[m][last];
    auto& others = waited[members[first].rank];
    for (const auto& [rank, ns] : waited[members[last].rank]) {
      const auto also = others.find(rank);
      const Ns more = ns - (also == others.end() ? 0 : also->second);
      if (more > most) most = more, blamed_[m] = rank;
    }
    for (size_t i = 0; i < members.size(); ++i) {
      const auto& own = view.job.ranks[members[i].rank].collectives[members[i].collective];
      past[members[i].rank].Add(own.end);
      const Ns wait = std::min(arrivals[last], own.end) - arrivals[i];
      if (wait > 0) waited[members[i].rank][blamed_[m]] += wait;
    }
  }
}

Heat HeatOf(const View& view, const Blame& blame) {
  const size_t ranks = view.job.ranks.size(), steps = view.steps.size();
  Heat heat;
  heat.steps_each = StepsEach(view);
  heat.columns = (steps + heat.steps_each - 1) / heat.steps_each;
  heat.measures = {
      {"late",
       "Late",
       "how much later than the middle of its group a rank comes to collectives by its own fault, ms of a "
       "step",
       {}},
      {"wait", "Waiting", "time in collectives before the last rank has come, ms of a step", {}},
      {"step", "Step", "how long the step takes on the rank, ms", {}},
      {"compute", "Compute", "kernels, ms of a step", {}},
      {"comm", "Not hidden", "communication that no kernel hides, ms of a step", {}},
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
  for (size_t m = 0; m < matches.size(); ++m) {
    const analyze::Match& match = matches[m];
    if (match.step >= steps || match.is_pair) continue;
    const Ns last = context.replay.LastArrival(m);
    for (size_t i = 0; i < match.members.size(); ++i) {
      const auto& member = match.members[i];
      const auto& collective = view.job.ranks[member.rank].collectives[member.collective];
      const size_t at = member.rank * steps + match.step;
      cells[kLate][at] += static_cast<double>(blame.Late(m)[i]) / kMs;
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

Waits WaitsOf(const View& view, const Blame& blame) {
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
    const Ns there = context.replay.LastArrival(m);
    const size_t blamed = blame.Of(m);
    for (const auto& member : match.members) {
      const auto& collective = view.job.ranks[member.rank].collectives[member.collective];
      const Ns waited = std::min(there, collective.end) - collective.begin;
      if (waited <= 0) continue;
      const double ms = static_cast<double>(waited) / per_step;
      if (member.rank == blamed) continue;  // it waits for what it held up itself
      cells[{member.rank, blamed}] += ms;
      waiting[member.rank] += ms;
      caused[blamed] += ms;
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
