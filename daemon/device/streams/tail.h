// The newest whole records of one channel, for the always-on values: a few periods, however fast it delivers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "format/decode/framing.h"

namespace profd::device {

// **Thread:** the pump's.
class Tail {
 public:
  explicit Tail(const format::StreamFormat& format);

  // Costs a comparison but for a few times a second.
  void Take(const std::byte* data, uint32_t bytes, uint64_t now_ns);
  const std::vector<std::byte>& bytes() const { return bytes_; }
  // When the newest of them were read; 0: never.
  uint64_t taken_ns() const { return taken_ns_; }

 private:
  size_t WholeFrom(const std::byte* data, size_t from, size_t bytes) const;

  const format::StreamFormat* format_;
  const size_t most_bytes_;  // 0: of records without structure nothing can be told
  std::vector<std::byte> bytes_;
  uint64_t taken_ns_ = 0;
  bool gap_ = false;  // something went by since that was not taken
};

}  // namespace profd::device
