// "<seconds>:<nanoseconds>" of the device's clock, as its text records begin.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "format/decode/line_decoder.h"

namespace profd::format {

inline std::optional<uint64_t> TextTimeNs(std::string_view text) {
  constexpr uint64_t kNsPerSecond = 1'000'000'000;
  constexpr uint64_t kMostSeconds = UINT64_MAX / kNsPerSecond - 1;
  const size_t colon = text.find(':');
  if (colon == std::string_view::npos) return std::nullopt;
  const auto seconds = ToNumber<uint64_t>(text.substr(0, colon));
  if (seconds && colon + 1 == text.size())
    return *seconds;  // some drivers print all of it in front of the colon
  const auto ns = ToNumber<uint64_t>(text.substr(colon + 1));
  if (!seconds || !ns || *seconds > kMostSeconds || *ns >= kNsPerSecond) return std::nullopt;
  return *seconds * kNsPerSecond + *ns;
}

}  // namespace profd::format
