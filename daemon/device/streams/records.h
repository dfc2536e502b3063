// Walking the records of a buffer and reading their stamps, for every framing of format/decode/framing.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "format/decode/framing.h"
#include "format/records/packed.h"

namespace profd::device {

// Longest text line that can be a record.
inline constexpr uint32_t kMaxLine = 4096;

// Calls `each(bytes, size)` for every whole record (line with its '\n') of `data`, which holds nothing else;
// bytes without structure come in pieces.
template <typename Each>
void ForEachRecord(const format::StreamFormat& format, const std::byte* data, uint32_t size, Each&& each) {
  if (format.framing == format::Framing::kFixed) {
    for (uint32_t at = 0; at < size; at += format.record_bytes) each(data + at, format.record_bytes);
  } else if (format.framing == format::Framing::kLines) {
    for (uint32_t at = 0; at < size;) {
      const void* end = std::memchr(data + at, '\n', size - at);
      const uint32_t bytes =
          end == nullptr ? size - at
                         : static_cast<uint32_t>(static_cast<const std::byte*>(end) - (data + at)) + 1;
      each(data + at, bytes);
      at += bytes;
    }
  } else {
    for (uint32_t at = 0; at < size; at += kMaxLine)
      each(data + at, size - at < kMaxLine ? size - at : kMaxLine);
  }
}

// Where the stamp of a kind lies and how to count with it.
class StampField {
 public:
  // `counter_mhz` is the rate of the device counter, 0 when unknown.
  StampField(const format::StreamFormat& format, double counter_mhz);

  bool present() const { return width_ != 0; }
  // In units of the stamp; 0 when the unit's length is unknown.
  double UnitsPerMs() const;
  uint64_t Read(const std::byte* record, uint32_t bytes) const {
    if (width_ == sizeof(uint64_t)) return format::Load<uint64_t>(record + offset_);
    if (width_ == sizeof(uint32_t)) return format::Load<uint32_t>(record + offset_);
    return width_ == 0 ? 0 : ReadText(record, bytes);
  }
  // Signed, and right across the wrap of a 32-bit stamp.
  int64_t Distance(uint64_t from, uint64_t to) const {
    if (width_ != sizeof(uint32_t)) return static_cast<int64_t>(to - from);
    return static_cast<int32_t>(static_cast<uint32_t>(to) - static_cast<uint32_t>(from));
  }
  // Text stamps are read-only.
  void Write(std::byte* record, uint64_t stamp) const;

 private:
  static constexpr uint32_t kText = UINT32_MAX;

  static uint64_t ReadText(const std::byte* line, uint32_t bytes);

  format::StampDomain domain_;
  uint32_t offset_;
  uint32_t width_;  // bytes, kText, or 0: there is none
  double counter_mhz_;
};

}  // namespace profd::device
