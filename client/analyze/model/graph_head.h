// What is done on the host before a compiled graph runs on its device, by the ranges that TorchAir and the
// graph engine have in a framework's timeline: each is within the one before it.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "client/analyze/model/columns.h"

namespace profd::analyze {

inline constexpr std::array<std::string_view, 3> kGraphHeads = {"npu_fx_compiler_inference",
                                                                "TorchNpuGraphBase::Run", "ExecuteGraph"};

// Which of them a range is.
inline std::optional<size_t> GraphHeadOf(std::string_view name) {
  for (size_t i = 0; i < kGraphHeads.size(); ++i) {
    if (name.find(kGraphHeads[i]) != name.npos) return i;
  }
  return std::nullopt;
}

// What is in a range and not in the one within it. `covered`: by each of them.
inline std::array<Ns, kGraphHeads.size()> GraphParts(const std::array<Ns, kGraphHeads.size()>& covered) {
  return {covered[0] > covered[1] ? covered[0] - covered[1] : 0,
          covered[1] > covered[2] ? covered[1] - covered[2] : 0, covered[2]};
}

}  // namespace profd::analyze
