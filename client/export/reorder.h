// What comes nearly in order, in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace profd::client {

// Puts what comes nearly in order in order. **Thread:** one.
template <typename Row>
class Reorder {
 public:
  // A row to fill in, good until the next call. `give` gets the rows that nothing earlier can follow any
  // more.
  template <typename Give>
  Row& New(Give give) {
    if (rows_.size() >= kWindow) Drain(kWindow / 2, give);
    return rows_.emplace_back();
  }
  template <typename Give>
  void Drain(size_t keep, Give give) {
    const auto before = [](const Row& a, const Row& b) { return a.begin_ns < b.begin_ns; };
    if (!std::is_sorted(rows_.begin(), rows_.end(), before))
      std::stable_sort(rows_.begin(), rows_.end(), before);
    const size_t count = rows_.size() - std::min(keep, rows_.size());
    for (size_t i = 0; i < count; ++i) give(rows_[i]);
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(count));
  }

 private:
  static constexpr size_t kWindow = 1 << 17;
  std::vector<Row> rows_;
};

}  // namespace profd::client
