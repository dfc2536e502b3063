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
  // `give` gets the rows that nothing earlier can follow any more.
  template <typename Give>
  void Add(const Row& row, Give give) {
    if (!rows_.empty() && row.begin_ns < rows_.back().begin_ns) sorted_ = false;
    rows_.push_back(row);
    if (rows_.size() >= kWindow) Drain(kWindow / 2, give);
  }
  template <typename Give>
  void Drain(size_t keep, Give give) {
    if (!sorted_) {
      std::stable_sort(rows_.begin(), rows_.end(),
                       [](const Row& a, const Row& b) { return a.begin_ns < b.begin_ns; });
    }
    sorted_ = true;
    const size_t count = rows_.size() - std::min(keep, rows_.size());
    for (size_t i = 0; i < count; ++i) give(rows_[i]);
    rows_.erase(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(count));
  }

 private:
  static constexpr size_t kWindow = 1 << 17;
  std::vector<Row> rows_;
  bool sorted_ = true;
};

}  // namespace profd::client
