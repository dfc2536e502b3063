// Count, mean, deviation and quartiles of lengths, as columns: exact, by linear interpolation.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "client/analyze/model/findings.h"

namespace profd::analyze {

inline std::vector<std::string> WithSpread(std::vector<std::string> columns) {
  for (const char* column :
       {"count", "mean_ns", "std_ns", "min_ns", "q1_ns", "median_ns", "q3_ns", "max_ns", "sum_ns"})
    columns.emplace_back(column);
  return columns;
}

// `lengths`: not empty; their order changes.
inline void AddSpread(std::vector<Cell>& row, std::vector<Ns>& lengths) {
  const auto n = static_cast<double>(lengths.size());
  Ns sum = 0, least = lengths.front(), most = lengths.front();
  for (const Ns length : lengths) {
    sum += length;
    least = std::min(least, length);
    most = std::max(most, length);
  }
  const double mean = static_cast<double>(sum) / n;
  double squares = 0;
  for (const Ns length : lengths)
    squares += (static_cast<double>(length) - mean) * (static_cast<double>(length) - mean);
  auto from = lengths.begin();  // what lies before it is in its place
  const auto quantile = [&](double part) {
    const double at = part * (n - 1);
    const auto below = static_cast<size_t>(at);
    const auto place = lengths.begin() + static_cast<std::ptrdiff_t>(below);
    std::nth_element(from, place, lengths.end());
    from = place;
    const auto low = static_cast<double>(*place);
    if (below + 1 >= lengths.size()) return low;
    const auto high = static_cast<double>(*std::min_element(place + 1, lengths.end()));
    return low + (high - low) * (at - static_cast<double>(below));
  };
  row.emplace_back(static_cast<int64_t>(lengths.size()));
  row.emplace_back(mean);
  row.emplace_back(lengths.size() > 1 ? std::sqrt(squares / (n - 1)) : 0.0);
  row.emplace_back(least);
  for (const double part : {0.25, 0.5, 0.75}) row.emplace_back(quantile(part));
  row.emplace_back(most);
  row.emplace_back(sum);
}

// Lengths of all ranks by key, 0 to counts.size() - 1. Those of all keys together take as much memory as a
// third of the job: some keys at a time, then. `visit(take)` calls take(key, length) for each of them, every
// time the same; `add(key, lengths)` has all of a key's.
template <typename Visit, typename Add>
void InParts(const std::vector<size_t>& counts, Visit visit, Add add) {
  constexpr size_t kMostAtOnce = 8 << 20;
  std::vector<std::vector<Ns>> lengths(counts.size());
  for (size_t from = 0, to = 0; from < counts.size(); from = to) {
    size_t sum = counts[to++];
    while (to < counts.size() && sum + counts[to] <= kMostAtOnce) sum += counts[to++];
    for (size_t key = from; key < to; ++key) lengths[key].reserve(counts[key]);
    visit([&](size_t key, Ns length) {
      if (key >= from && key < to) lengths[key].push_back(length);
    });
    for (size_t key = from; key < to; ++key) {
      if (!lengths[key].empty()) add(key, lengths[key]);
      std::vector<Ns>().swap(lengths[key]);
    }
  }
}

}  // namespace profd::analyze
