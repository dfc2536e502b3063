#include "daemon/device/streams/framer.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "base/status.h"

namespace profd::device {

using format::Framing;

namespace {

// As many records in a row must be plausible before a place in damaged bytes counts as a record's edge.
constexpr uint32_t kConfirm = 3;
// What must be there to compare all places that a record could begin at.
constexpr uint32_t kBatch = 256;
constexpr uint32_t kWindow = kConfirm + 1;
// A stamp that leaps over more periods must be confirmed by its successor.
constexpr double kLeapPeriods = 64;
// Among damaged bytes a stamp that goes back is that much less likely than one that goes on.
constexpr double kBackward = 1024;
// In units of a stamp; more is a counter rate that cannot be true.
constexpr double kLongestPeriod = 1e15;
// Periods that may be accounted for beyond what the host's clock allows: clocks drift, rings buffer.
constexpr uint64_t kPeriodSlack = 64;

bool HasPeriods(const format::StreamFormat& format) {
  return format.records_per_period != 0 || format.combine == format::Combine::kSum;
}

// The first stamp is near 0 then.
bool CountsFromStart(const format::StreamFormat& format) {
  return format.stamp == format::StampDomain::kStartUs64 || format.stamp == format::StampDomain::kStartUs32;
}

}  // namespace

Framer::Framer(const format::StreamFormat& format, uint32_t period_ms, double counter_mhz, uint64_t begin_ns)
    : format_(&format),
      stamp_(format, counter_mhz),
      record_bytes_(format.record_bytes),
      carry_(std::max(kMaxLine, kWindow * format.record_bytes)),
      shape_(format),
      have_stamp_(CountsFromStart(format)),
      begin_ns_(begin_ns) {
  if (!HasPeriods(format)) return;
  const double units = period_ms * stamp_.UnitsPerMs();
  if (!(units >= 1 && units < kLongestPeriod)) return;
  period_units_ = units;
  period_ns_ = uint64_t{period_ms} * 1'000'000U;
  most_ahead_ = static_cast<int64_t>(kLeapPeriods * period_units_);
  // Kinds with a varying number of records per period may interleave units whose stamps differ a little.
  most_back_ = format.records_per_period != 0 ? 0 : most_ahead_;
  most_regular_ = static_cast<int64_t>(1.5 * period_units_);
}

uint32_t Framer::CarryInto(std::byte* front) const {
  std::memcpy(front, carry_.data(), carry_size_);
  return carry_size_;
}

Framed Framer::Frame(std::byte* data, uint32_t size, uint64_t now_ns, bool last) {
  carry_size_ = 0;
  switch (format_->framing) {
    case Framing::kFixed:
      return FrameFixed(data, size, now_ns, last);
    case Framing::kLines:
      return FrameLines(data, size, now_ns, last);
    case Framing::kOpaque:
      break;
  }
  return {.bytes = size};
}

Framed Framer::FrameFixed(std::byte* data, uint32_t size, uint64_t now_ns, bool last) {
  Framed framed;
  if (in_trailer_) return framed;
  uint32_t in = 0;
  Resync resync{.skip = 0, .found = true};
  if (hunting_) resync = FindRecords(0, data, size, last);
  while (true) {
    framed.damaged_bytes += resync.skip;
    gap_bytes_ += resync.skip;
    in += resync.skip;
    if (!resync.found) break;
    CloseGap(framed);
    const Run run = TakeGood(data + in, size - in, now_ns, last, framed);
    if (framed.bytes != in) std::memmove(data + framed.bytes, data + in, run.bytes);
    framed.bytes += run.bytes;
    framed.records += run.bytes / record_bytes_;
    in += run.bytes;
    if (run.bytes != 0 && stamp_.present()) {
      last_stamp_ = stamp_.Read(data + framed.bytes - record_bytes_, record_bytes_);
      have_stamp_ = true;
    }
    in_trailer_ = BeginsTrailer(data + in, size - in);
    if (in_trailer_) return framed;
    if (run.end != Verdict::kDamaged) break;
    resync = FindRecords(1, data + in, size - in, last);
  }
  hunting_ = !resync.found;
  if (last) {
    framed.damaged_bytes += size - in;
    gap_bytes_ += size - in;
    CloseGap(framed);
  } else {
    Keep(data + in, size - in);
  }
  return framed;
}

Framer::Run Framer::TakeGood(const std::byte* data, uint32_t size, uint64_t now_ns, bool last,
                             Framed& framed) {
  const uint32_t whole = size - size % record_bytes_;
  uint32_t at = 0;
  while (at < whole) {
    // A batch stays in the nearest cache between its two passes.
    const uint32_t batch = std::min(whole - at, kBatch * record_bytes_) / record_bytes_;
    const uint32_t good =
        format_->plausible == nullptr ? batch : format_->plausible(data + at, batch, record_bytes_);
    const uint32_t end = at + good * record_bytes_;
    if (period_units_ == 0) at = end;
    for (; at < end; at += record_bytes_) {
      const std::byte* record = data + at;
      const uint64_t stamp = stamp_.Read(record, record_bytes_);
      if (stamp != last_period_ || periods_ == 0) {
        const Verdict verdict = Judge(stamp, record, size - at, last);
        if (verdict != Verdict::kGood) return {at, verdict};
        BeginPeriod(stamp, now_ns, framed);
      }
      ++period_records_;
    }
    if (good < batch) return {at, Verdict::kDamaged};
  }
  return {at, Verdict::kGood};
}

bool Framer::InLine(int64_t distance) const { return distance >= -most_back_ && distance <= most_ahead_; }

// A record may look right and yet be two halves of different ones: then its stamp leaps, and the next one's
// does not agree. So may shifted records: then a place nearby tells a better time. When neither is so, time
// itself has leapt (a long gap, a device that was reset).
Framer::Verdict Framer::Judge(uint64_t stamp, const std::byte* record, uint32_t size, bool last) const {
  if (periods_ == 0 || InLine(stamp_.Distance(last_period_, stamp))) return Verdict::kGood;
  if (size < kWindow * record_bytes_) return last ? Verdict::kGood : Verdict::kUndecided;
  const std::byte* next = record + record_bytes_;
  if (!Plausible(next, 1)) return Verdict::kDamaged;
  if (!InLine(stamp_.Distance(stamp, stamp_.Read(next, record_bytes_)))) return Verdict::kDamaged;
  return BestEdge(0, record, last_period_, 1) == 0 ? Verdict::kGood : Verdict::kDamaged;
}

// How many more periods the host has seen go by than the stream has accounted for.
uint64_t Framer::PossiblePeriods(uint64_t now_ns) const {
  const uint64_t possible = (now_ns - std::min(begin_ns_, now_ns)) / period_ns_ + kPeriodSlack;
  return possible - std::min(possible, periods_);
}

void Framer::BeginPeriod(uint64_t stamp, uint64_t now_ns, Framed& framed) {
  const int64_t gap = stamp_.Distance(last_period_, stamp);
  if (periods_ != 0 && gap > most_regular_) {
    const auto periods = static_cast<uint64_t>(std::llround(static_cast<double>(gap) / period_units_));
    const uint64_t missing = std::min(periods - 1, PossiblePeriods(now_ns));
    const uint64_t per_period =
        format_->records_per_period != 0 ? format_->records_per_period : period_records_;
    const uint64_t records = missing * per_period;
    framed.missing_records += records - std::min(records, gap_records_);
    periods_ += missing;
  }
  gap_records_ = 0;
  ++periods_;
  period_records_ = 0;
  last_period_ = stamp;
}

bool Framer::Plausible(const std::byte* data, uint32_t records) const {
  return format_->plausible == nullptr || format_->plausible(data, records, record_bytes_) == records;
}

bool Framer::BeginsTrailer(const std::byte* data, uint32_t size) const {
  const std::string_view trailer = format_->trailer;
  return !trailer.empty() && size >= trailer.size() && std::memcmp(data, trailer.data(), trailer.size()) == 0;
}

// Where do records begin again, at `from` or later? Not found: from `skip` on more bytes must tell.
Framer::Resync Framer::FindRecords(uint32_t from, const std::byte* data, uint32_t size, bool last) const {
  for (uint32_t at = from; at < size; ++at) {
    const uint32_t whole = (size - at) / record_bytes_;
    if (whole < kWindow) {
      if (!last) return {at, false};
      // At the end of the stream there is nothing to confirm them but that they end with it.
      if (whole == 0 || (size - at) % record_bytes_ != 0) continue;
      if (Plausible(data + at, whole)) return {at, true};
    } else if (Plausible(data + at, kConfirm)) {
      return {have_stamp_ ? BestEdge(at, data, last_stamp_, kBackward) : at, true};
    }
  }
  return {size, false};
}

// True when the stamps of kConfirm records can be those of one stream.
bool Framer::Coherent(const std::byte* data) const {
  if (period_units_ == 0) return true;
  uint64_t before = stamp_.Read(data, record_bytes_);
  for (uint32_t i = 1; i < kConfirm; ++i) {
    const uint64_t stamp = stamp_.Read(data + i * record_bytes_, record_bytes_);
    if (!InLine(stamp_.Distance(before, stamp))) return false;
    before = stamp;
  }
  return true;
}

// Shifted records of some kinds look like records too, again and again; the time they tell gives them away.
uint32_t Framer::BestEdge(uint32_t from, const std::byte* data, uint64_t near_stamp, double backward) const {
  uint32_t best = from;
  double least = std::numeric_limits<double>::max();
  for (uint32_t at = from; at < from + record_bytes_; ++at) {
    if (!Plausible(data + at, kConfirm) || !Coherent(data + at)) continue;
    const auto distance =
        static_cast<double>(stamp_.Distance(near_stamp, stamp_.Read(data + at, record_bytes_)));
    const double cost = distance < 0 ? -distance * backward : distance;
    if (cost >= least) continue;
    least = cost;
    best = at;
  }
  return best;
}

Framed Framer::FrameLines(std::byte* data, uint32_t size, uint64_t now_ns, bool last) {
  Framed framed;
  uint32_t in = 0;
  while (in < size) {
    const std::byte* begin = data + in;
    const auto line = shape_.First({reinterpret_cast<const char*>(begin), size - in});
    if (!line) break;
    const uint32_t bytes = static_cast<uint32_t>(line->text.size()) + 1;
    const bool too_long = std::exchange(in_long_line_, false) || bytes > kMaxLine;
    in += bytes;
    if (line->fits && !too_long) {
      if (period_units_ != 0) {
        const uint64_t stamp = stamp_.Read(begin, bytes);
        if (stamp != last_period_ || periods_ == 0) BeginPeriod(stamp, now_ns, framed);
        ++period_records_;
      }
      if (data + framed.bytes != begin) std::memmove(data + framed.bytes, begin, bytes);
      framed.bytes += bytes;
      ++framed.records;
    } else if (too_long || !format::IsHeaderLine(line->text)) {
      framed.damaged_bytes += bytes;
      ++framed.damaged_records;
      ++gap_records_;
    }
  }
  const uint32_t rest = size - in;
  if (rest > kMaxLine || in_long_line_ || last) {
    framed.damaged_bytes += rest;
    in_long_line_ = rest != 0 || in_long_line_;
    if (last && in_long_line_) ++framed.damaged_records;
  } else {
    Keep(data + in, rest);
  }
  return framed;
}

// The skipped bytes end here: now it is known how many records they may have been.
void Framer::CloseGap(Framed& framed) {
  const uint64_t records = (gap_bytes_ + record_bytes_ - 1) / record_bytes_;
  framed.damaged_records += records;
  gap_records_ += records;
  gap_bytes_ = 0;
}

void Framer::Keep(const std::byte* data, uint32_t bytes) {
  PROFD_CHECK(bytes <= carry_.size());
  std::memcpy(carry_.data(), data, bytes);
  carry_size_ = bytes;
}

}  // namespace profd::device
