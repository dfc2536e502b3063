#include "daemon/store/spool/budget.h"

#include <algorithm>
#include <string>

namespace profd::store {

using base::Code;
using base::Status;

namespace {

constexpr uint64_t kLeastSliceBytes = 64ull << 10;
// Kept free for control files, which are written whatever the limit.
constexpr uint64_t kMostReserve = 2ull << 20;
// Whoever adds up the files looks at one after the other, and counts what goes meanwhile beside what comes.
constexpr double kLookNs = 100e6;
constexpr uint64_t kMostForLook = 16;  // one part in so many of the limit
constexpr uint64_t kCutsOfWindow = 8;
// Sources look about five times a second; finer slices would only make more files.
constexpr uint64_t kLeastSliceNs = 50'000'000;
// Slices removed for one append as long as there is room without them: some ms at most.
constexpr size_t kMostAtOnce = 32;

void Set(std::atomic<uint64_t>& figure, uint64_t value) { figure.store(value, std::memory_order_relaxed); }

}  // namespace

uint64_t Budget::window_ns() const { return window_ns_.load(std::memory_order_relaxed); }

void Budget::Leave(SliceKeeper* keeper) {
  std::erase(keepers_, keeper);
  std::erase_if(closed_, [=](const auto& entry) { return entry.second.keeper == keeper; });
  std::erase_if(latest_, [=](const auto& entry) { return entry.first.first == keeper; });
}

void Budget::WhenFull(OnFull on_full, std::function<void()> stop) {
  on_full_ = on_full;
  stop_ = std::move(stop);
}

std::string Budget::paused() const {
  const std::lock_guard lock(mutex_);
  return paused_;
}

std::string Budget::aged_for() const {
  const std::lock_guard lock(mutex_);
  return aged_for_;
}

void Budget::Pause(const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    paused_ = reason;
  }
  if (on_full_ == OnFull::kStop && stop_) std::exchange(stop_, nullptr)();
}

void Budget::Resume() {
  const std::lock_guard lock(mutex_);
  paused_.clear();
}

void Budget::Change(uint64_t before, uint64_t after) {
  used_.fetch_add(after - before, std::memory_order_relaxed);
  for (const auto& bound : bounds_) bound->Change(before, after);
}

void Budget::NoteRemoved(uint64_t disk_bytes, uint64_t bytes, uint64_t records, const std::string& why) {
  Change(disk_bytes, 0);
  aged_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  aged_records_.fetch_add(records, std::memory_order_relaxed);
  if (why.empty()) return;
  const std::lock_guard lock(mutex_);
  aged_for_ = why;
}

void Budget::LeaveBounds() {
  for (const auto& bound : bounds_) bound->Change(used_bytes(), 0);
  bounds_.clear();
}

void Budget::NoteStored(uint64_t first_ns, uint64_t last_ns) {
  begin_ns_ = std::min(begin_ns_, first_ns);
  newest_ns_ = std::max(newest_ns_, last_ns);
  Set(window_ns_, newest_ns_ - std::min(newest_ns_, std::max(begin_ns_, aged_through_ns_)));
}

uint64_t Budget::SliceBytes(uint64_t most) const {
  if (!limited()) return most;
  const auto streams = static_cast<uint64_t>(std::max<int64_t>(1, streams_));
  return std::min(most, std::max(kLeastSliceBytes, limit_ / (4 * streams)));
}

uint64_t Budget::Reserve() const {
  const uint64_t least = SliceBytes(kMostReserve);
  if (window_ns() == 0) return least;
  const double per_ns = static_cast<double>(used_bytes()) / static_cast<double>(window_ns());
  const uint64_t share = limit_ / kMostForLook;
  const auto most = static_cast<double>(share);
  return std::max(least, static_cast<uint64_t>(std::min(per_ns * kLookNs, most)));
}

uint64_t Budget::SliceNs() const {
  if (!limited()) return UINT64_MAX;
  // What there is covers window_ns(); a full disk would at the same rate cover this much:
  const double window = static_cast<double>(window_ns()) * static_cast<double>(limit_) /
                        static_cast<double>(std::max<uint64_t>(1, used_bytes()));
  return std::max(kLeastSliceNs, static_cast<uint64_t>(std::min(window, 1e18)) / kCutsOfWindow);
}

void Budget::Offer(SliceKeeper* keeper, ClosedSlice slice) {
  // Never before an earlier slice of its file, or what is left had a hole.
  uint64_t& latest = latest_[{keeper, slice.file}];
  latest = std::max(latest, slice.last_ns);
  closed_.emplace(latest, Entry{keeper, std::move(slice)});
}

bool Budget::OfferOldestNewest() {
  const auto oldest = std::min_element(
      keepers_.begin(), keepers_.end(),
      [](const SliceKeeper* a, const SliceKeeper* b) { return a->OldestNewest() < b->OldestNewest(); });
  if (oldest == keepers_.end() || (*oldest)->OldestNewest() == UINT64_MAX) return false;
  (*oldest)->OfferOldestNewest();
  return !closed_.empty();
}

Budget::Need Budget::NeedFor(uint64_t bytes) {
  for (const auto& bound : bounds_) {
    if (bound->Excess(bytes) > 0) return {Want::kMust, bound.get()};
  }
  if (!limited() || used_bytes() + bytes + Reserve() <= limit_) return {};
  return {used_bytes() + bytes <= limit_ ? Want::kRather : Want::kMust, nullptr};
}

Status Budget::AgeOldest() {
  if (closed_.empty() && !OfferOldestNewest()) {
    return {Code::kResourceExhausted, "nothing is left to age"};
  }
  const auto oldest = closed_.begin();
  const ClosedSlice& slice = oldest->second.slice;
  PROFD_RETURN_IF_ERROR(oldest->second.keeper->Age(slice));
  Change(slice.disk_bytes, 0);
  for (const ClosedSlice::Part& part : slice.parts) {
    aged_bytes_.fetch_add(part.bytes, std::memory_order_relaxed);
    aged_records_.fetch_add(part.records, std::memory_order_relaxed);
  }
  aged_through_ns_ = std::max(aged_through_ns_, oldest->first);
  closed_.erase(oldest);
  NoteStored(newest_ns_, newest_ns_);
  return {};
}

std::string Budget::Name(const Need& need) const {
  if (need.bound != nullptr) return need.bound->what();
  return "the storage limit of " + std::to_string(limit_) + " bytes (--storage-limit)";
}

Status Budget::MakeRoom(uint64_t bytes) {
  for (size_t removed = 0;; ++removed) {
    const Need need = NeedFor(bytes);
    if (need.want == Want::kNothing) return {};
    const bool must = need.want == Want::kMust;
    // What others need can be more than this session ever wrote; it gives what it can with every append.
    if (removed >= kMostAtOnce && (!must || need.bound != nullptr)) return {};
    const bool mine = need.bound == nullptr;
    if (must && !mine && on_full_ != OnFull::kAge) {
      return {Code::kResourceExhausted, Name(need) + " is reached"};
    }
    if (const Status status = AgeOldest(); !status.ok()) {
      if (!must) return {};
      return status.In(Name(need) + " is reached");
    }
    if (need.bound == nullptr || need.bound == aged_bound_) continue;
    aged_bound_ = need.bound;
    const std::lock_guard lock(mutex_);
    aged_for_ = "for " + need.bound->what();
  }
}

}  // namespace profd::store
