// FNV-1a, 32 bits: spreads names, and finds torn bytes; no help against intent.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

namespace profd::base {

constexpr uint32_t Fnv1a(std::string_view text) {
  uint32_t hash = 2166136261;
  for (const char each : text) hash = (hash ^ static_cast<unsigned char>(each)) * 16777619;
  return hash;
}

// As a name: 8 hex digits.
inline std::string Fnv1aName(std::string_view text) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", Fnv1a(text));
  return digits;
}

}  // namespace profd::base
