// How far two words are apart, for "did you mean".
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <vector>

namespace profd::base {

// Insertions, removals and replacements that turn `a` into `b`, and swaps of neighbours.
inline size_t EditDistance(std::string_view a, std::string_view b) {
  std::vector<size_t> before(b.size() + 1), above(b.size() + 1), row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    before.swap(above);
    above.swap(row);
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      const bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) row[j] = std::min(row[j], before[j - 2] + 1);
    }
  }
  return row[b.size()];
}

// At most a third of the letters is wrong: more, and it is another word.
inline bool IsNear(std::string_view given, std::string_view known) {
  const size_t shorter = std::min(given.size(), known.size()), longer = std::max(given.size(), known.size());
  return 3 * (longer - shorter) <= longer && 3 * EditDistance(given, known) <= longer;
}

// The nearest of those that are near, "" = none is.
template <typename Words>
std::string_view Nearest(std::string_view given, const Words& known) {
  std::string_view nearest;
  for (const std::string_view word : known) {
    if (!IsNear(given, word)) continue;
    if (nearest.empty() || EditDistance(given, word) < EditDistance(given, nearest)) nearest = word;
  }
  return nearest;
}

}  // namespace profd::base
