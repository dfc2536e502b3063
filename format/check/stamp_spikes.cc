#include "format/check/stamp_spikes.h"

#include "format/records/packed.h"

namespace profd::format {

namespace {

// Is `a` behind `b` by more than `tolerance`?
bool Beyond(uint64_t a, uint64_t b, uint64_t tolerance) { return a > b && a - b > tolerance; }

}  // namespace

uint64_t StampSpikes::Stamp(const std::byte* record) const {
  const std::byte* at = record + format_.stamp_offset;
  return format_.stamp == StampDomain::kStartUs32 ? Load<uint32_t>(at) : Load<uint64_t>(at);
}

// Up or down, while the next one goes on where the last one was. Where the next one does not, the clock began
// anew.
bool StampSpikes::IsSpike(uint64_t stamp, uint64_t next) const {
  if (Beyond(last_, next, tolerance_)) return false;
  const bool up = Beyond(stamp, next, tolerance_) && Beyond(stamp, last_, tolerance_);
  return up || Beyond(last_, stamp, tolerance_);
}

bool StampSpikes::Follows(const std::byte* record) const {
  constexpr uint64_t kHour = 3600;
  const uint64_t stamp = Stamp(record);
  return !has_last_ || (stamp > last_ ? stamp - last_ : last_ - stamp) <= kHour * per_second_;
}

size_t StampSpikes::Good(std::span<const std::byte> records) {
  const size_t size = format_.record_bytes;
  const size_t count = records.size() / size;
  const std::byte* record = records.data();
  uint64_t next = count > 0 ? Stamp(record) : 0;
  for (size_t i = 0; i < count; ++i) {
    record += size;
    const uint64_t stamp = next;
    if (i + 1 < count) next = Stamp(record);
    if (has_last_ && IsSpike(stamp, next)) return i;
    has_last_ = true;
    last_ = stamp;
  }
  return count;
}

}  // namespace profd::format
