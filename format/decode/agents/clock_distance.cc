#include "format/decode/agents/clock_distance.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>

namespace profd::format {

void ClockDistance::Take(std::span<const int64_t> distances) {
  if (distances.empty()) return;
  for (const int64_t distance : distances) {
    Count& count = counts_[distance / kStepNs - (distance < 0 ? 1 : 0)];
    ++count.events;
    count.sum_ns += static_cast<double>(distance);
  }
  ++events_;
  if (++since_forgotten_ >= kRemembered) Forget();
  if (++since_decided_ >= kOften) Decide();
}

// The clocks may drift, or be set: what was long ago counts less.
void ClockDistance::Forget() {
  since_forgotten_ = 0;
  events_ /= 2;
  for (auto at = counts_.begin(); at != counts_.end();) {
    at->second.events /= 2;
    at->second.sum_ns /= 2;
    at = at->second.events < 1 ? counts_.erase(at) : std::next(at);
  }
}

// A distance may lie on the edge of two steps.
void ClockDistance::Decide() {
  since_decided_ = 0;
  const auto around = [this](std::map<int64_t, Count>::const_iterator at) {
    Count sum = at->second;
    const auto next = std::next(at);
    if (next != counts_.end() && next->first == at->first + 1) {
      sum.events += next->second.events;
      sum.sum_ns += next->second.sum_ns;
    }
    return sum;
  };
  Count best;
  int64_t best_step = 0;
  for (auto at = counts_.cbegin(); at != counts_.cend(); ++at) {
    const Count sum = around(at);
    if (sum.events <= best.events) continue;
    best = sum;
    best_step = at->first;
  }
  double next = 0;
  for (auto at = counts_.cbegin(); at != counts_.cend(); ++at) {
    if (std::abs(at->first - best_step) > 2) next = std::max(next, around(at).events);
  }
  const bool sure =
      best.events >= kFewest && best.events >= kLeastShare * events_ && next <= kNextShare * best.events;
  ns_ = sure ? std::optional(static_cast<int64_t>(best.sum_ns / best.events)) : std::nullopt;
}

}  // namespace profd::format
