#include "client/analyze/rules/host/lock_holder.h"

#include <algorithm>
#include <map>
#include <vector>

#include "format/decode/host/cpu_profile.h"

namespace profd::analyze {
namespace {

constexpr size_t kMostWaits = 500;
constexpr size_t kFewWaits = 3;
constexpr Ns kShortWait = 300'000;  // the order of what happens around its end is too uncertain
constexpr Ns kSlack = 100'000;      // between giving a lock back and the end of the wait
// On a busy machine who has waited may get its CPU late: by that much, of the wait, and at most.
constexpr Ns kLatePart = 5, kLatest = 10'000'000;
constexpr double kEnough = 0.8;  // of the waits one must have run at the end
constexpr double kLead = 1.25;   // so much more often than the next one

// What one thread waits for, by begin; nothing of it overlaps.
using Waits = std::vector<const HostSpan*>;

// The wait that a moment is in; nullptr: the thread runs, or could.
const HostSpan* At(const Waits& waits, Ns at) {
  const auto behind = std::ranges::upper_bound(waits, at, {}, &HostSpan::begin);
  return behind != waits.begin() && (*std::prev(behind))->end > at ? *std::prev(behind) : nullptr;
}

// It ran between `from` and `to` at least once.
bool Runs(const Waits& waits, Ns from, Ns to) {
  const HostSpan* wait = At(waits, from);
  // Before its first wait and after its last one nobody knows.
  if (wait == nullptr) return from > waits.front()->begin && from < waits.back()->end;
  return wait->end < to;
}

const char* Does(HostPlace place) {
  switch (place) {
    case HostPlace::kGarbage:
      return "collects garbage";
    case HostPlace::kLoader:
      return "waits for the data loader";
    case HostPlace::kFault:
    case HostPlace::kDisk:
      return "waits for a disk";
    case HostPlace::kLock:
      return "waits for another lock or thread";
    case HostPlace::kSleep:
      return "sleeps";
    case HostPlace::kStopped:
      return "is stopped by a signal";
    case HostPlace::kNetwork:
      return "waits for the network";
    case HostPlace::kOther:
      break;
  }
  return "";
}

// Who runs at the end of nearly all waits, and clearly more often than any other; no waits: nobody.
LockHolder Releaser(const Waits& waits, const std::map<uint64_t, Waits>& others, bool may_be_late) {
  LockHolder best;
  size_t next = 0;
  for (const auto& [other, of_other] : others) {
    const auto ran =
        static_cast<size_t>(std::ranges::count_if(waits, [&, &of_other = of_other](const HostSpan* wait) {
          const Ns late = may_be_late ? std::min((wait->end - wait->begin) / kLatePart, kLatest) : kSlack;
          return Runs(of_other, wait->end - std::max(late, kSlack), wait->end + kSlack);
        }));
    if (ran > best.waits) {
      next = best.waits;
      best.waits = ran;
      best.thread = other;
    } else {
      next = std::max(next, ran);
    }
  }
  best.of = waits.size();
  const bool is_clear = static_cast<double>(best.waits) >= kEnough * static_cast<double>(best.of) &&
                        static_cast<double>(best.waits) >= kLead * static_cast<double>(next);
  return is_clear ? best : LockHolder{};
}

}  // namespace

std::optional<LockHolder> HolderOf(const Job& job, const Rank& rank, uint64_t thread,
                                   std::span<const HostSpan> spans) {
  std::map<uint64_t, Waits> others;  // of the same process, by thread
  for (const HostSpan& wait : rank.waits) {
    const HostStack& stack = job.stacks[wait.stack];
    const bool is_queued = !stack.frames.empty() && job.Text(stack.frames.front()) == format::kWaitsForCpu;
    if (wait.thread != thread && wait.thread >> 32 == thread >> 32 && !is_queued)
      others[wait.thread].push_back(&wait);
  }
  std::vector<const HostSpan*> waits;
  for (const HostSpan& span : spans) {
    if (span.end - span.begin >= kShortWait && job.stacks[span.stack].place == HostPlace::kLock)
      waits.push_back(&span);
  }
  std::ranges::sort(waits, [](const HostSpan* a, const HostSpan* b) {
    return std::pair(b->end - b->begin, a->begin) < std::pair(a->end - a->begin, b->begin);
  });
  if (waits.size() > kMostWaits) waits.resize(kMostWaits);
  if (waits.size() < kFewWaits) return std::nullopt;
  LockHolder best = Releaser(waits, others, false);
  if (best.waits == 0) best = Releaser(waits, others, true);
  if (best.waits == 0) return std::nullopt;
  // Where it was meanwhile, most of the time: in a wait of its own, or on a CPU.
  std::map<uint32_t, Ns> by_stack;
  Ns all = 0;
  const auto add = [&](const HostSpan& span, const HostSpan& wait) {
    const Ns overlap = std::min(span.end, wait.end) - std::max(span.begin, wait.begin);
    if (overlap > 0) by_stack[span.stack] += overlap;
  };
  for (const HostSpan* wait : waits) {
    all += wait->end - wait->begin;
    for (const HostSpan* own : others[best.thread]) add(*own, *wait);
  }
  Ns waited = 0;
  for (const auto& [stack, covered] : by_stack) waited += covered;
  if (2 * waited < all) {
    by_stack.clear();
    for (const HostSpan& span : rank.running) {
      if (span.thread != best.thread) continue;
      for (const HostSpan* wait : waits) add(span, *wait);
    }
  }
  if (by_stack.empty()) return best;
  best.stack = std::ranges::max_element(by_stack, {}, [](const auto& one) { return one.second; })->first;
  if (const TextId function = job.stacks[best.stack].own(); function != 0)
    best.function = std::string(job.Text(function)).substr(0, 48);
  if (2 * waited >= all) best.does = Does(job.stacks[best.stack].place);
  return best;
}

}  // namespace profd::analyze
