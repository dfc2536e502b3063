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

// `lengths`: not empty; sorted by this.
inline void AddSpread(std::vector<Cell>& row, std::vector<Ns>& lengths) {
  std::ranges::sort(lengths);
  const auto n = static_cast<double>(lengths.size());
  Ns sum = 0;
  for (const Ns length : lengths) sum += length;
  const double mean = static_cast<double>(sum) / n;
  double squares = 0;
  for (const Ns length : lengths)
    squares += (static_cast<double>(length) - mean) * (static_cast<double>(length) - mean);
  const auto quantile = [&](double part) {
    const double at = part * (n - 1);
    const auto below = static_cast<size_t>(at);
    const auto low = static_cast<double>(lengths[below]);
    if (below + 1 >= lengths.size()) return low;
    return low + (static_cast<double>(lengths[below + 1]) - low) * (at - static_cast<double>(below));
  };
  row.emplace_back(static_cast<int64_t>(lengths.size()));
  row.emplace_back(mean);
  row.emplace_back(lengths.size() > 1 ? std::sqrt(squares / (n - 1)) : 0.0);
  row.emplace_back(lengths.front());
  for (const double part : {0.25, 0.5, 0.75}) row.emplace_back(quantile(part));
  row.emplace_back(lengths.back());
  row.emplace_back(sum);
}

}  // namespace profd::analyze
