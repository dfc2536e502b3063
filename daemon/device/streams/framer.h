// Turns the byte stream of a channel into whole records, in place; what is no record is cut out and counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "daemon/device/streams/line_shape.h"
#include "daemon/device/streams/records.h"
#include "format/decode/framing.h"

namespace profd::device {

// What one Frame() made of a buffer.
struct Framed {
  uint32_t bytes = 0;    // whole records, compacted to the front of the buffer
  uint32_t records = 0;  // text kinds: data lines; structureless kinds: 0
  uint64_t damaged_bytes = 0;
  uint64_t damaged_records = 0;
  uint64_t missing_records = 0;  // of periods that the stamps say went by without a record

  bool lossless() const { return (damaged_bytes | damaged_records | missing_records) == 0; }
};

// Keeps the partial record at the end of a buffer for the next one. Clean bytes are never moved.
// **Thread:** one.
class Framer {
 public:
  // `period_ms` 0 = event driven; `begin_ns` is when the stream begins (host raw).
  Framer(const format::StreamFormat& format, uint32_t period_ms, double counter_mhz, uint64_t begin_ns);

  // Most bytes CarryInto() ever asks for.
  uint32_t max_carry() const { return static_cast<uint32_t>(carry_.size()); }
  // Puts what the last Frame() left over before the bytes to come; returns how much. Repeatable until
  // Frame().
  uint32_t CarryInto(std::byte* front) const;
  // `size` counts the carry at the front. `last`: nothing follows, so what is no whole record is damage.
  Framed Frame(std::byte* data, uint32_t size, uint64_t now_ns, bool last);

 private:
  enum class Verdict : uint8_t { kGood, kDamaged, kUndecided };
  struct Run {
    uint32_t bytes = 0;
    Verdict end = Verdict::kGood;  // why it ended; kGood: no whole record was left
  };
  struct Resync {
    uint32_t skip = 0;
    bool found = false;
  };

  Framed FrameFixed(std::byte* data, uint32_t size, uint64_t now_ns, bool last);
  Framed FrameLines(std::byte* data, uint32_t size, uint64_t now_ns, bool last);
  Run TakeGood(const std::byte* data, uint32_t size, uint64_t now_ns, bool last, Framed& framed);
  Verdict Judge(uint64_t stamp, const std::byte* record, uint32_t size, bool last) const;
  uint64_t PossiblePeriods(uint64_t now_ns) const;
  void BeginPeriod(uint64_t stamp, uint64_t now_ns, Framed& framed);
  Resync FindRecords(uint32_t from, const std::byte* data, uint32_t size, bool last) const;
  uint32_t BestEdge(uint32_t from, const std::byte* data, uint64_t near_stamp, double backward) const;
  bool Plausible(const std::byte* data, uint32_t records) const;
  bool BeginsTrailer(const std::byte* data, uint32_t size) const;
  bool Coherent(const std::byte* data) const;
  bool InLine(int64_t distance) const;
  void CloseGap(Framed& framed);
  void Keep(const std::byte* data, uint32_t bytes);

  const format::StreamFormat* format_;
  const StampField stamp_;
  const uint32_t record_bytes_;
  std::vector<std::byte> carry_;
  uint32_t carry_size_ = 0;
  LineShape shape_;            // text kinds
  bool in_trailer_ = false;    // what comes is no record any more
  bool in_long_line_ = false;  // skipping to the end of a line that is too long
  bool hunting_ = false;       // what was kept is not known to begin on a record's edge
  uint64_t gap_bytes_ = 0;     // skipped since the last good record
  uint64_t gap_records_ = 0;   // damaged since the last new stamp

  uint64_t last_stamp_ = 0;  // of the last good record
  bool have_stamp_;

  // Periods by the stamps; only for kinds that deliver something in each.
  double period_units_ = 0;  // of the stamp; 0 = not followed
  int64_t most_ahead_ = 0;   // what a stamp may be after the last one, or before it, in the course of things
  int64_t most_back_ = 0;
  int64_t most_regular_ = 0;  // and with no period missing between
  uint64_t period_ns_ = 0;
  const uint64_t begin_ns_;
  uint64_t last_period_ = 0;     // its stamp
  uint64_t periods_ = 0;         // seen and missed
  uint64_t period_records_ = 0;  // of the current period
};

}  // namespace profd::device
