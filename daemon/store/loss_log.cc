#include "daemon/store/loss_log.h"

#include <algorithm>

namespace profd::store {

namespace {
// Kept free so that each cause (format::Loss::Where) can always have an entry of its own.
constexpr size_t kCauses = 5;
}  // namespace

void LossLog::Add(const format::Loss& loss) {
  const auto same = std::find_if(losses_.rbegin(), losses_.rend(),
                                 [&](const format::Loss& known) { return known.where == loss.where; });
  const bool full = losses_.size() >= kMaxLosses - kCauses;
  const bool neighbour = same == losses_.rbegin() && !stored_since_;
  stored_since_ = false;
  if (same == losses_.rend() || !(full || neighbour)) {
    losses_.push_back(loss);
    return;
  }
  same->from_ns = std::min(same->from_ns, loss.from_ns);
  same->to_ns = std::max(same->to_ns, loss.to_ns);
  same->records += loss.records;
  same->bytes += loss.bytes;
}

}  // namespace profd::store
