// Values in the texts that profd and its stand-ins send each other: as they lie in memory, for both are one
// program.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>

namespace profd::host {

template <typename T>
void AppendValue(std::string& text, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  text.append(reinterpret_cast<const char*>(&value), sizeof value);
}

// Takes it off the front; false: there is too little.
template <typename T>
bool TakeValue(std::string_view& text, T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  if (text.size() < sizeof value) return false;
  std::memcpy(&value, text.data(), sizeof value);
  text.remove_prefix(sizeof value);
  return true;
}

// Texts within a text, with their length in front.
inline void AppendValue(std::string& text, const std::string& part) {
  AppendValue(text, uint64_t{part.size()});
  text += part;
}
inline bool TakeValue(std::string_view& text, std::string& part) {
  uint64_t bytes = 0;
  if (!TakeValue(text, bytes) || text.size() < bytes) return false;
  part = text.substr(0, bytes);
  text.remove_prefix(bytes);
  return true;
}

}  // namespace profd::host
