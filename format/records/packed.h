// Reading little-endian packed structs out of bytes that may be anywhere and anything.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace profd::format {

static_assert(std::endian::native == std::endian::little,
              "all Ascend hosts are little-endian; a big-endian host would need swapping decoders");

// Copies a T from unaligned bytes; the caller has checked that sizeof(T) bytes are there.
template <typename T>
T Load(const void* bytes) {
  static_assert(std::is_trivially_copyable_v<T>);
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}
template <typename T>
void Store(void* bytes, const T& value) {
  static_assert(std::is_trivially_copyable_v<T>);
  std::memcpy(bytes, &value, sizeof value);
}

}  // namespace profd::format
