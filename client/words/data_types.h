// How many bytes an element of a collective takes, by the name of its type.
#pragma once

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace profd::client {

// As the vendor's ENUM_HCCL_DATA_TYPE ("FP16", "BFP16", "FP8E4M3", "HIF8") or as agents ("fp16", "bf16") have
// it; 0 = of none that is known.
inline uint64_t ElementBytes(std::string_view name) {
  std::string type(name);
  std::ranges::transform(type, type.begin(), [](unsigned char c) { return std::toupper(c); });
  if (type.starts_with("FP8") || type.starts_with("HIF")) return 1;
  for (const auto& [end, bytes] : {std::pair{"128", 16}, {"64", 8}, {"32", 4}, {"16", 2}, {"T8", 1}}) {
    if (type.ends_with(end)) return static_cast<uint64_t>(bytes);
  }
  return 0;
}

}  // namespace profd::client
