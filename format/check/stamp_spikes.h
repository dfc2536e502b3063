// Finds the records whose stamp jumps away from those around it: their bytes are damaged, whatever else is
// right.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "format/decode/framing.h"

namespace profd::format {

// **Thread:** one.
class StampSpikes {
 public:
  // In units of the stamp. `tolerance`: how far out of order whole records may be.
  StampSpikes(const StreamFormat& format, uint64_t per_second, uint64_t tolerance)
      : format_(format), per_second_(per_second), tolerance_(tolerance) {}

  // How many whole records at the begin are good. If it's not all of them, the next one is not.
  size_t Good(std::span<const std::byte> records);
  // Can a record that is read after the last good one have such a stamp? Within an hour of it.
  bool Follows(const std::byte* record) const;

 private:
  uint64_t Stamp(const std::byte* record) const;
  bool IsSpike(uint64_t stamp, uint64_t next) const;

  const StreamFormat& format_;
  const uint64_t per_second_, tolerance_;
  bool has_last_ = false;
  uint64_t last_ = 0;
};

}  // namespace profd::format
