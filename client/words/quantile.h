#pragma once

#include <algorithm>
#include <cstddef>
#include <vector>

namespace profd::client {

// By linear interpolation; 0 of nothing.
template <typename Number>
double Quantile(std::vector<Number> values, double part) {
  if (values.empty()) return 0;
  const double at = part * static_cast<double>(values.size() - 1);
  const auto below = static_cast<size_t>(at);
  std::nth_element(values.begin(), values.begin() + static_cast<ptrdiff_t>(below), values.end());
  const auto low = static_cast<double>(values[below]);
  if (below + 1 >= values.size() || at == static_cast<double>(below)) return low;
  const auto high = static_cast<double>(
      *std::min_element(values.begin() + static_cast<ptrdiff_t>(below) + 1, values.end()));
  return low + (high - low) * (at - static_cast<double>(below));
}

}  // namespace profd::client
