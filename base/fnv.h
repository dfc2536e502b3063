// FNV-1a, 32 bits: spreads names, and finds torn bytes; no help against intent.
#pragma once

#include <cstdint>
#include <string_view>

namespace profd::base {

constexpr uint32_t Fnv1a(std::string_view text) {
  uint32_t hash = 2166136261;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 16777619;
  return hash;
}

}  // namespace profd::base
