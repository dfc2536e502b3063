// Walking the records of a buffer and reading their stamps, for every framing of format/framing.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "format/framing.h"

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

  bool present() const { return format_->stamp != format::StampDomain::kNone; }
  // In units of the stamp; 0 when the unit's length is unknown.
  double UnitsPerMs() const;
  uint64_t Read(const std::byte* record, uint32_t bytes) const;
  // Signed, and right across the wrap of a 32-bit stamp.
  int64_t Distance(uint64_t from, uint64_t to) const;
  // Text stamps are read-only.
  void Write(std::byte* record, uint64_t stamp) const;

 private:
  const format::StreamFormat* format_;
  double counter_mhz_;
};

}  // namespace profd::device
