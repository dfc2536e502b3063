// Protocol buffer wire format, written by hand: for formats of which we write a few messages and read none.
#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

namespace profd::client::proto {

inline char* WriteVarint(char* at, uint64_t value) {
  if (value >> 56 != 0 && value >> 63 == 0) {  // nine bytes, as every stamp has: eight of them at once
    uint64_t spread = (value & 0x0FFFFFFF) | (value & 0x00FFFFFFF0000000) << 4;
    spread = (spread & 0x00003FFF00003FFF) | (spread & 0x0FFFC0000FFFC000) << 2;
    spread = (spread & 0x007F007F007F007F) | (spread & 0x3F803F803F803F80) << 1;
    spread |= 0x8080808080808080;
    std::memcpy(at, &spread, sizeof(spread));
    at[8] = static_cast<char>(value >> 56);
    return at + 9;
  }
  while (value >= 0x80) {
    *at++ = static_cast<char>(value | 0x80);
    value >>= 7;
  }
  *at++ = static_cast<char>(value);
  return at;
}
inline char* WriteFixed64(char* at, uint64_t bits) {
  std::memcpy(at, &bits, 8);  // little-endian, as we are
  return at + 8;
}

enum class Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2 };
constexpr uint64_t Tag(uint32_t field, Wire wire) {
  return uint64_t{field} << 3 | static_cast<uint32_t>(wire);
}

// A tag known when compiling, of at most two bytes.
template <uint32_t kField, Wire kWire>
inline char* WriteTag(char* at) {
  constexpr uint64_t kTag = Tag(kField, kWire);
  static_assert(kTag < 1 << 14);
  if constexpr (kTag < 0x80) {
    *at = static_cast<char>(kTag);
    return at + 1;
  } else {
    at[0] = static_cast<char>(kTag | 0x80);
    at[1] = static_cast<char>(kTag >> 7);
    return at + 2;
  }
}
// A length that is known only when what it counts is written: always of kLengthBytes, which is how wide a
// varint may be.
inline constexpr size_t kLengthBytes = 2;
inline constexpr size_t kMostLength = (1 << 7 * kLengthBytes) - 1;
inline void SetLength(char* at, size_t length) {
  at[0] = static_cast<char>(length | 0x80);
  at[1] = static_cast<char>(length >> 7);
}

// A message that is being put together; keeps its room when it's cleared. Nested ones are made first and
// added.
class Message {
 public:
  Message& Add(uint32_t field, uint64_t value) {
    char* at = Room(kMostNumber);
    return Advance(WriteVarint(WriteVarint(at, Tag(field, Wire::kVarint)), value));
  }
  Message& AddFixed64(uint32_t field, uint64_t bits) {
    char* at = Room(kMostNumber);
    return Advance(WriteFixed64(WriteVarint(at, Tag(field, Wire::kFixed64)), bits));
  }
  Message& AddDouble(uint32_t field, double value) {
    return AddFixed64(field, std::bit_cast<uint64_t>(value));
  }
  Message& Add(uint32_t field, std::string_view bytes) {
    char* at = Room(kMostNumber + bytes.size());
    at = WriteVarint(WriteVarint(at, Tag(field, Wire::kBytes)), bytes.size());
    if (!bytes.empty()) std::memcpy(at, bytes.data(), bytes.size());
    return Advance(at + bytes.size());
  }
  Message& Add(uint32_t field, const Message& message) { return Add(field, message.bytes()); }

  // For who writes fields himself: room at the end, and how far it was used.
  char* Room(size_t bytes) {
    if (buffer_.size() - size_ < bytes) buffer_.resize(2 * buffer_.size() + bytes);
    return buffer_.data() + size_;
  }
  Message& Advance(const char* end) {
    size_ = static_cast<size_t>(end - buffer_.data());
    return *this;
  }

  std::string_view bytes() const { return {buffer_.data(), size_}; }
  bool empty() const { return size_ == 0; }
  void Clear() { size_ = 0; }

 private:
  static constexpr size_t kMostNumber = 20;  // a tag and a number
  std::vector<char> buffer_;
  size_t size_ = 0;
};

}  // namespace profd::client::proto
