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

}  // namespace profd::analyze
