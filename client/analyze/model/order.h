// Order for rows that mostly have it already: those of a recording, table by table and stream by stream.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>

namespace profd::analyze {

// Sorts by `less`, a total order of the values. One pass over what is in order or is two such runs, one
// behind the other; a few moves for each value that is some places away from its own.
template <typename Values, typename Less>
void SortNearlySorted(Values& values, Less less) {
  const auto begin = values.begin(), end = values.end();
  const auto sorted_end = std::is_sorted_until(begin, end, less);
  if (sorted_end == end) return;
  if (std::is_sorted(sorted_end, end, less)) {
    std::inplace_merge(begin, sorted_end, end, less);
    return;
  }
  constexpr std::ptrdiff_t kMovesPerValue = 8;
  std::ptrdiff_t moves = kMovesPerValue * (end - begin);
  for (auto next = sorted_end; next != end; ++next) {
    if (!less(*next, *std::prev(next))) continue;
    auto value = std::move(*next);
    auto hole = next;
    do {
      *hole = std::move(*std::prev(hole));
      --hole;
    } while (hole != begin && less(value, *std::prev(hole)));
    *hole = std::move(value);
    moves -= next - hole;
    if (moves < 0) {
      std::sort(begin, end, less);
      return;
    }
  }
}

}  // namespace profd::analyze
