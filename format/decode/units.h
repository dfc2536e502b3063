// What else the rows of a family say of a stream.
#pragma once

#include <cstdint>

#include "format/chip.h"
#include "format/decode/framing.h"

namespace profd::format {

// Which bytes tell the units of a kind apart, and which are counts of the period.
struct Units {
  uint32_t key_at = 0;    // text: the first column of the key
  uint32_t key_size = 0;  // text: columns; 0 = one unit only
  uint32_t counts_at = 0;
  uint32_t count_bytes = 0;
  uint32_t counts = 0;
};
Units UnitsOf(const StreamFormat& format);

// What one tick brings where that is not one record (or what the format says), or text. Counts are those of
// the vendor's layouts as the simulator has them, bytes those of lines of counters in use.
struct Tick {
  ChipSet chips = {};
  double records = 1;
  double record_bytes = 0;  // 0: the format's
};
double TickBytes(const StreamFormat& format, Chip chip);

}  // namespace profd::format
