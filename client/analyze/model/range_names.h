// Ranges that tables are about, however short: modules, what says how much it computes, heads of graphs.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>

#include "client/analyze/model/graph_head.h"

namespace profd::analyze {

inline constexpr std::string_view kModule = "nn.Module: ";  // as the framework's profiler calls them

// "123456-matmul": a range says how many operations it stands for.
inline std::optional<double> OperationsOfRange(std::string_view name) {
  double value = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), value);
  if (error != std::errc() || end == name.data() + name.size() || *end != '-' || !(value > 0))
    return std::nullopt;
  return value;
}

inline bool IsOfTables(std::string_view name) {
  return name.starts_with(kModule) || OperationsOfRange(name) || GraphHeadOf(name);
}

}  // namespace profd::analyze
