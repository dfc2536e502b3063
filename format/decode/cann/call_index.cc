#include "format/decode/cann/call_index.h"

#include <algorithm>
#include <utility>

namespace profd::format {

namespace {

// How many calls of a thread may begin after a moment's own one and be over before that moment.
constexpr int kMostSteps = 4096;

}  // namespace

void CallIndex::Finish() {
  const auto before = [](const Entry& a, const Entry& b) { return a.thread < b.thread; };
  if (!std::is_sorted(entries_.begin(), entries_.end(), before))
    std::stable_sort(entries_.begin(), entries_.end(), before);
  const Entry* former = nullptr;
  for (Entry& entry : entries_) {
    entry.reach =
        former != nullptr && former->thread == entry.thread ? std::max(former->reach, entry.end) : entry.end;
    former = &entry;
  }
}

int64_t CallIndex::Find(uint32_t thread, uint64_t stamp) {
  const std::pair wanted(thread, stamp);
  const auto begins = [](const Entry& entry) { return std::pair(entry.thread, entry.begin); };
  // Behind the last call of the thread that begins at or before the moment.
  size_t at = std::min(last_, entries_.size());
  int near = 0;
  constexpr int kNear = 32;
  for (; near < kNear && at > 0 && wanted < begins(entries_[at - 1]); ++near) --at;
  for (; near < kNear && at < entries_.size() && !(wanted < begins(entries_[at])); ++near) ++at;
  if (near == kNear) {
    at = static_cast<size_t>(
        std::upper_bound(entries_.begin(), entries_.end(), wanted,
                         [&](const auto& moment, const Entry& entry) { return moment < begins(entry); }) -
        entries_.begin());
  }
  last_ = at;
  for (int steps = 0; steps < kMostSteps && at > 0; ++steps) {
    const Entry& entry = entries_[--at];
    if (entry.thread != thread || entry.reach < stamp) break;
    if (entry.end >= stamp) return entry.call;
  }
  return -1;
}

}  // namespace profd::format
