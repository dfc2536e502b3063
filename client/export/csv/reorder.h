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
  static constexpr size_t kWindow = 1 << 17;  // a power of two

  // A row to fill in, good until the next call. `give` gets the rows that nothing earlier can follow any
  // more.
  template <typename Give>
  Row& New(Give give) {
    if (count_ == kWindow) Drain(kWindow / 2, give);
    const size_t at = Place(count_++);
    if (at == rows_.size()) return rows_.emplace_back();
    return rows_[at] = Row{};
  }
  template <typename Give>
  void Drain(size_t keep, Give give) {
    Sort();
    for (; count_ > keep; --count_) {
      give(rows_[first_]);
      first_ = Place(1);
    }
    sorted_ = count_;
  }

 private:
  size_t Place(size_t row) const { return (first_ + row) & (kWindow - 1); }
  void Sort() {
    const auto before = [](const Row& a, const Row& b) { return a.begin_ns < b.begin_ns; };
    size_t next = std::max<size_t>(sorted_, 1);
    while (next < count_ && !before(rows_[Place(next)], rows_[Place(next - 1)])) ++next;
    if (next >= count_) return;
    std::rotate(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(first_), rows_.end());
    first_ = 0;
    std::stable_sort(rows_.begin(), rows_.begin() + static_cast<ptrdiff_t>(count_), before);
  }

  std::vector<Row> rows_;  // a ring once it is as large as the window
  size_t first_ = 0, count_ = 0;
  size_t sorted_ = 0;  // so many of the first are known to be in order
};

}  // namespace profd::client
