// Kinds of things are exchanged one after the other, each by its mean of a step: the steps of one recording
// are replayed with what the other one takes. From base to new, and from new to base; the mean of both
// counts.
#include <algorithm>
#include <array>
#include <cmath>
#include <functional>

#include "client/analyze/compare/compare.h"
#include "client/analyze/model/parallel.h"

namespace profd::analyze {
namespace {

constexpr double kMs = 1e6;
constexpr const char* kNames[] = {"the same kernels take longer or shorter",
                                  "other kernels, more or fewer of them",
                                  "copies",
                                  "collectives, their data",
                                  "the host between launches",
                                  "the host stops",
                                  "pauses of the device"};
constexpr size_t kExchanges = std::size(kNames);

double Ratio(double to, double from) { return from > 0 ? to / from : 1; }

// Steps of `from`, that become those of `to`.
class Exchange {
 public:
  Exchange(const Run& from, const Run& to)
      : from_(from), to_(to), partners_(Partners(from, to)), names_(NumbersOf(to.kinds())) {}

  // Mean step, ns: as it was, then with each exchange more.
  std::array<double, kExchanges + 1> Falls(bool* exact) {
    std::array<double, kExchanges + 1> means{};
    Lengths lengths;
    for (size_t k = 0; k <= kExchanges; ++k) {
      if (k > 0) Apply(k - 1, lengths);
      const Replay::Outcome outcome = from_.replay().Run(k == 0 ? nullptr : &lengths);
      means[k] = outcome.Mean(from_.context().first);
      *exact = *exact && outcome.exact;
    }
    return means;
  }

 private:
  static std::map<Kind, uint32_t> NumbersOf(const std::vector<Kind>& kinds) {
    std::map<Kind, uint32_t> numbers;
    for (uint32_t i = 0; i < kinds.size(); ++i) numbers.emplace(kinds[i], i);
    return numbers;
  }

  void Apply(size_t what, Lengths& lengths) {
    switch (what) {
      case 0:
        return ScaleTasks(lengths, [this](size_t r) { return SameKernels(r, false); });
      case 1:
        return ScaleTasks(lengths, [this](size_t r) { return OtherKernels(r); });
      case 2:
        return ScaleTasks(lengths, [this](size_t r) { return SameKernels(r, true); });
      case 3:
        return Transfers(lengths);
      case 4:
        return InFront(lengths, Run::Before::kCall);
      case 5:
        return InFront(lengths, Run::Before::kStop);
      default:
        return InFront(lengths, Run::Before::kTask);
    }
  }

  // Of the partners' kind, on average.
  Amount Theirs(size_t r, uint32_t kind) const {
    Amount sum;
    const auto known = names_.find(from_.kinds()[kind]);
    if (known == names_.end()) return sum;
    for (const uint32_t other : partners_[r]) {
      const Amount& amount = to_.Kernels(other)[known->second];
      sum.ns += amount.ns / static_cast<double>(partners_[r].size());
      sum.count += amount.count / static_cast<double>(partners_[r].size());
    }
    return sum;
  }

  // By kind: how much longer each is there. Copies: in all.
  std::vector<double> SameKernels(size_t r, bool of_copies) const {
    std::vector<double> factors(from_.kinds().size(), 1);
    for (uint32_t kind = 0; kind < factors.size(); ++kind) {
      const Amount& own = from_.Kernels(r)[kind];
      if ((from_.kinds()[kind].work == Work::kCopy) != of_copies || own.count == 0) continue;
      const Amount theirs = Theirs(r, kind);
      if (of_copies) {
        factors[kind] = Ratio(theirs.ns, own.ns);
      } else if (theirs.count > 0) {
        factors[kind] = Ratio(theirs.each(), own.each());
      }
    }
    return factors;
  }

  // By kind: how many more there are; what has no like here is put on its type, and that of no type on all.
  std::vector<double> OtherKernels(size_t r) const {
    const size_t kinds = from_.kinds().size();
    std::vector<double> factors(kinds, 1);
    std::map<std::string, double> only_here, only_there;  // ns by type
    double all = 0;
    for (uint32_t kind = 0; kind < kinds; ++kind) {
      const Amount& own = from_.Kernels(r)[kind];
      if (from_.kinds()[kind].work == Work::kCopy || own.count == 0) continue;
      const Amount theirs = Theirs(r, kind);
      if (theirs.count == 0) {
        only_here[from_.kinds()[kind].type] += own.ns;
      } else {
        factors[kind] = theirs.count / own.count;
        all += theirs.ns;
      }
    }
    std::map<Kind, uint32_t> here;
    for (uint32_t kind = 0; kind < kinds; ++kind) {
      if (from_.Kernels(r)[kind].count > 0) here.emplace(from_.kinds()[kind], kind);
    }
    double homeless = 0;
    for (const auto& [name, number] : names_) {
      if (name.work == Work::kCopy || here.contains(name)) continue;
      double ns = 0;
      for (const uint32_t other : partners_[r])
        ns += to_.Kernels(other)[number].ns / static_cast<double>(partners_[r].size());
      if (ns == 0) continue;
      (only_here.contains(name.type) ? only_there[name.type] : homeless) += ns;
    }
    for (uint32_t kind = 0; kind < kinds; ++kind) {
      const Kind& own = from_.kinds()[kind];
      if (own.work == Work::kCopy || from_.Kernels(r)[kind].count == 0 || Theirs(r, kind).count > 0) continue;
      factors[kind] = only_there.contains(own.type) ? only_there[own.type] / only_here[own.type] : 0;
      all += factors[kind] * from_.Kernels(r)[kind].ns;
    }
    if (homeless > 0 && all > 0) {
      for (uint32_t kind = 0; kind < kinds; ++kind) {
        if (from_.kinds()[kind].work != Work::kCopy) factors[kind] *= (all + homeless) / all;
      }
    }
    return factors;
  }

  void ScaleTasks(Lengths& lengths, const std::function<std::vector<double>(size_t)>& factors_of) {
    for (size_t r = 0; r < from_.job().ranks.size(); ++r) {
      const std::vector<double> factors = factors_of(r);
      if (std::ranges::all_of(factors, [](double factor) { return factor == 1; })) continue;
      Lengths::OfRank& of = from_.replay().Touch(lengths, r);
      const Rank& rank = from_.job().ranks[r];
      for (size_t i = 0; i < rank.tasks.size(); ++i) {
        const Task& task = rank.tasks[i];
        if (task.work == Work::kCollective || task.kind == kNone) continue;
        of.task[i] = std::llround(static_cast<double>(of.task[i]) * factors[from_.KindOf(task.kind)]);
      }
    }
  }

  // Of the same ranks' collectives of a kind; what has no like here is put on all of them.
  void Transfers(Lengths& lengths) {
    const std::map<Kind, uint32_t> names = NumbersOf(to_.collective_kinds());
    const std::map<Kind, uint32_t> own_names = NumbersOf(from_.collective_kinds());
    std::vector<std::vector<double>> factors(from_.job().ranks.size());
    for (size_t r = 0; r < factors.size(); ++r) {
      const auto theirs = [&](uint32_t number) {
        double sum = 0;
        for (const uint32_t other : partners_[r]) sum += to_.TransfersOf(other)[number].ns;
        return sum / static_cast<double>(partners_[r].size());
      };
      factors[r].assign(from_.collective_kinds().size(), 0);
      double own = 0, all = 0, homeless = 0;
      for (size_t kind = 0; kind < factors[r].size(); ++kind) {
        const double ns = from_.TransfersOf(r)[kind].ns;
        const auto known = names.find(from_.collective_kinds()[kind]);
        if (ns <= 0 || known == names.end()) continue;
        factors[r][kind] = theirs(known->second) / ns;
        own += ns;
        all += theirs(known->second);
      }
      for (const auto& [name, number] : names) homeless += own_names.contains(name) ? 0 : theirs(number);
      for (const Amount& amount : from_.TransfersOf(r)) own += all > 0 ? 0 : amount.ns;
      if (homeless > 0 && all > 0) {
        for (double& factor : factors[r]) factor *= (all + homeless) / all;
      } else if (homeless > 0 && own > 0) {
        std::ranges::fill(factors[r], homeless / own);
      }
    }
    std::vector<Ns>& less = from_.replay().TouchMatches(lengths);
    for (size_t i = 0; i < less.size(); ++i) {
      const Match& match = from_.matches().all[i];
      if (match.members.empty()) continue;
      double factor = 0;
      for (const Match::Member& member : match.members)
        factor += factors[member.rank][from_.CollectiveKind(i)] / static_cast<double>(match.members.size());
      less[i] = std::llround(static_cast<double>(from_.replay().Transfer(i)) * (1 - factor));
    }
  }

  // What lies in front of calls and tasks, each at its place in the step: what is hidden here and not there
  // shows. Of other numbers of steps or calls those at the same part of them.
  void InFront(Lengths& lengths, Run::Before what) {
    const bool is_task = what == Run::Before::kTask;
    for (size_t r = 0; r < from_.job().ranks.size(); ++r) {
      const auto has_calls = [](const Rank& rank) { return rank.level >= Level::kLaunches; };
      if (!is_task && (!has_calls(from_.job().ranks[r]) || !has_calls(to_.job().ranks[partners_[r].front()])))
        continue;
      Lengths::OfRank& of = from_.replay().Touch(lengths, r);
      std::vector<Ns>& less = is_task ? of.task_less : of.call_less;
      const size_t steps = from_.context().steps();
      for (size_t step = 0; step < steps; ++step) {
        const std::vector<uint32_t>& items = from_.Items(what, r, step);
        const std::vector<double> theirs =
            Spread(what, r, step * to_.context().steps() / steps, items.size());
        for (size_t i = 0; i < items.size(); ++i)
          less[items[i]] += from_.InFrontOf(what, r, items[i]) - std::llround(theirs[i]);
      }
    }
  }

  // What the partners have in front of things of a step, for `places` of them.
  std::vector<double> Spread(Run::Before what, size_t r, size_t step, size_t places) const {
    std::vector<double> spread(places);
    const double part = 1 / static_cast<double>(partners_[r].size());
    for (const uint32_t other : partners_[r]) {
      const std::vector<uint32_t>& items = to_.Items(what, other, step);
      std::vector<double> until{0};
      for (const uint32_t item : items)
        until.push_back(until.back() + static_cast<double>(to_.InFrontOf(what, other, item)));
      const auto at = [&](size_t place) {
        const double index = static_cast<double>(place * items.size()) / static_cast<double>(places);
        const auto below = static_cast<size_t>(index);
        return below >= items.size()
                   ? until.back()
                   : until[below] + (until[below + 1] - until[below]) * (index - static_cast<double>(below));
      };
      for (size_t i = 0; i < places; ++i) spread[i] += (at(i + 1) - at(i)) * part;
    }
    return spread;
  }

  const Run& from_;
  const Run& to_;
  const std::vector<std::vector<uint32_t>> partners_;
  const std::map<Kind, uint32_t> names_;
};

}  // namespace

Waterfall FallFrom(const Run& base, const Run& now, unsigned jobs) {
  std::array<std::array<double, kExchanges + 1>, 2> means{};
  std::array<bool, 2> is_exact{true, true};
  ForEach(2, jobs, [&](size_t way) {
    means[way] = (way == 0 ? Exchange(base, now) : Exchange(now, base)).Falls(&is_exact[way]);
  });
  Waterfall waterfall{.base_ms = base.context().step_ns / kMs,
                      .new_ms = now.context().step_ns / kMs,
                      .falls = {},
                      .exact = is_exact[0] && is_exact[1]};
  double rest = waterfall.new_ms - waterfall.base_ms;
  for (size_t k = 0; k < kExchanges; ++k) {
    const double there = means[0][k + 1] - means[0][k], back = means[1][k] - means[1][k + 1];
    waterfall.falls.push_back({kNames[k], (there + back) / 2 / kMs});
    rest -= waterfall.falls.back().ms;
  }
  waterfall.falls.push_back(
      {"rest: what has no partner on the other side, and what the replay misses", rest});
  return waterfall;
}

}  // namespace profd::analyze
