#include "daemon/store/spool/bounds.h"

#include <algorithm>

#include "base/clock.h"

namespace profd::store {

namespace {

constexpr uint64_t kCallEveryNs = 1'000'000'000;
constexpr uint64_t kLookEveryNs = 200'000'000;
constexpr uint64_t kLookEveryBytes = 16ull << 20;
constexpr uint64_t kMostSlack = 256ull << 20;
constexpr uint64_t kMostKept = 1ull << 30;
constexpr uint64_t kLeastKept = 20'000'000;

}  // namespace

void Tidier::Call() {
  const uint64_t now = base::MonotonicNs();
  uint64_t next = next_call_ns_.load(std::memory_order_relaxed);
  if (busy() || now < next) return;
  if (!next_call_ns_.compare_exchange_strong(next, now + kCallEveryNs, std::memory_order_relaxed)) return;
  calls_.fetch_add(1, std::memory_order_relaxed);
  wake_();
}

void Tidier::Renew() {
  renewals_.fetch_add(1, std::memory_order_relaxed);
  next_call_ns_.store(0, std::memory_order_relaxed);
}

void Tidier::Blame(const std::string& holder) {
  const std::lock_guard lock(mutex_);
  blamed_ = holder;
}

std::string Tidier::blamed() const {
  const std::lock_guard lock(mutex_);
  return blamed_;
}

uint64_t Quota::SlackOf(uint64_t limit_bytes) { return std::min(kMostSlack, limit_bytes / 16); }

uint64_t Quota::Excess(uint64_t more) {
  const uint64_t limit = limit_bytes();
  if (limit == 0) return 0;
  const uint64_t wanted = used_bytes() + more;
  const uint64_t slack = SlackOf(limit);
  if (tidier_ && wanted > limit - slack) tidier_->Call();
  const uint64_t most = tidier_ && tidier_->busy() ? limit + slack : limit;
  return wanted > most ? wanted - most : 0;
}

uint64_t KeepFreeBytes(uint64_t configured, uint64_t total_bytes) {
  return std::max(kLeastKept, configured > 0 ? configured : std::min(kMostKept, total_bytes / 50));
}

std::string FreeSpace::what() const {
  const std::string blamed = tidier_ ? tidier_->blamed() : "";
  return blamed.empty() ? what_ : what_ + ", of which " + blamed + ",";
}

void FreeSpace::Change(uint64_t before, uint64_t after) {
  free_.fetch_sub(static_cast<int64_t>(after - before), std::memory_order_relaxed);
  if (after > before) written_.fetch_add(after - before, std::memory_order_relaxed);
}

int64_t FreeSpace::Left(uint64_t more) {
  const auto left = [&] { return free_ - static_cast<int64_t>(more); };
  const uint64_t now = base::MonotonicNs();
  const uint64_t renewals = tidier_ ? tidier_->renewals() : 0;
  if (renewals == renewals_ && written_ < kLookEveryBytes && now < next_look_ns_) return left();
  renewals_ = renewals;
  next_look_ns_ = now + kLookEveryNs;
  written_ = 0;
  const base::Result<Space> space = measure_();
  if (!space.ok()) return left();  // the writing itself will tell
  keep_ = KeepFreeBytes(configured_, space->total_bytes);
  free_ = static_cast<int64_t>(std::min<uint64_t>(RoomIn(*space, keep_), INT64_MAX / 2));
  return left();
}

uint64_t FreeSpace::Excess(uint64_t more) {
  bool others_make_way = false;
  if (Left(more) < static_cast<int64_t>(keep_ + keep_ / 4) && tidier_) {
    tidier_->Call();
    others_make_way = tidier_->busy();
  }
  const auto least = static_cast<int64_t>(others_make_way ? keep_ / 2 : keep_);
  const int64_t left = Left(more);  // with what has been removed before others were done
  return left < least ? static_cast<uint64_t>(least - left) : 0;
}

}  // namespace profd::store
