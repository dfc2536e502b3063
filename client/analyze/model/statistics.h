// Robust statistics, the same everywhere in an analysis.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "client/words/quantile.h"

namespace profd::analyze {

using client::Quantile;

template <typename Number>
double Median(std::vector<Number> values) {
  return Quantile(std::move(values), 0.5);
}
// Median distance from the median, as a standard deviation.
template <typename Number>
double Spread(const std::vector<Number>& values) {
  const double middle = Median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const Number value : values) distances.push_back(std::abs(static_cast<double>(value) - middle));
  return 1.4826 * Median(std::move(distances));
}
// Of the median of so many: its standard error, as of a normal distribution.
template <typename Number>
double MedianError(const std::vector<Number>& values) {
  return 1.2533 * Spread(values) / std::sqrt(static_cast<double>(values.size()));
}
// One of the early ones of many ranks: so half of them, or more, may be late.
template <typename Number>
Number Early(std::vector<Number> values) {
  if (values.empty()) return {};
  const size_t at = (values.size() - 1) / 4;
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(at), values.end());
  return values[at];
}
// The median of those that are not slow: not `threshold` (a part of it) above an early one.
inline double Usual(const std::vector<double>& values, double threshold) {
  const double early = Early(values);
  std::vector<double> good;
  for (const double value : values) {
    if (value <= early * (1 + threshold)) good.push_back(value);
  }
  return Median(std::move(good));
}
template <typename Number>
double Mean(const std::vector<Number>& values) {
  double sum = 0;
  for (const Number value : values) sum += static_cast<double>(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

}  // namespace profd::analyze
