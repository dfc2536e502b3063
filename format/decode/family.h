// A family of kinds: what is known of the bytes of its files, in the one file that reads them. How they fall
// into records, what cannot be one, what becomes one at a slower rate, how much there is of it, and which
// decoder makes rows of it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <span>
#include <string_view>

#include "format/chip.h"
#include "format/decode/catalogue.h"
#include "format/decode/framing.h"
#include "format/decode/units.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/records/packed.h"
#include "format/records/tasks.h"
#include "format/series.h"

namespace profd::format {

struct FramingRow {
  ChipSet chips;
  StreamFormat format;
  Units units = {};
  std::array<Tick, 3> ticks = {};  // of a chip the first that has it; none: what `format` says
};

struct Family {
  std::span<const FramingRow> framings = {};
  std::span<const FramingRow> by_task = {};  // of files whose cores count by task
  std::span<const DecoderEntry> decoders = {};
  std::span<const Series* const> series = {};  // what rows the decoders make
};
std::span<const Family> Families();

// The name that rows have for a file: "-Memory.data" of "4711-Memory.data", "instr.group_aic" of
// "instr.group_3_aic".
std::string_view RowName(std::string_view file);

using MakeDecoder = std::unique_ptr<Decoder>(const DecodeContext& context, std::string_view file,
                                             int64_t pid);

// Plausibility runs on every record of a live stream: a few loads and compares, and no branch that depends on
// foreign bytes. Ranges are wider than any chip; they exist to make a shifted record stand out.
namespace check {

inline constexpr uint64_t kMostTime = uint64_t{1} << 58;  // 9 years in ns, more in ticks
inline constexpr uint64_t kMostUs = uint64_t{1} << 50;
inline constexpr uint64_t kLeastNs = uint64_t{1} << 30;  // no device is sampled in its first second
inline constexpr uint64_t kLeastTicks = uint64_t{1} << 24;
inline constexpr uint64_t kMostCount = uint64_t{1} << 48;
inline constexpr uint64_t kMostBytes = uint64_t{1} << 48;
inline constexpr uint32_t kMostMbPerS = 1u << 24;
inline constexpr uint32_t kMostPcie = 0xFFFFF;  // which stands for "no value" in the 20-bit counters
inline constexpr uint32_t kMostIds = 64;
inline constexpr uint32_t kMostPorts = 1024;
inline constexpr uint32_t kAllMasters = 0xFFFFFFFF;

// At least `least` and below kMostTime, in one compare.
constexpr bool IsTime(uint64_t value, uint64_t least) { return value - least < kMostTime - least; }
constexpr bool IsNs(uint64_t value) { return IsTime(value, kLeastNs); }
constexpr bool IsTicks(uint64_t value) { return IsTime(value, kLeastTicks); }

// All and any of them, without a branch between them.
template <typename... Conditions>
constexpr bool All(Conditions... conditions) {
  return (static_cast<unsigned>(conditions) & ...) != 0;
}
template <typename... Conditions>
constexpr bool Any(Conditions... conditions) {
  return (static_cast<unsigned>(conditions) | ...) != 0;
}

// All bits set in any of `count` (even) u32 words.
template <size_t kCount>
uint32_t AnyBits(const std::byte* words) {
  static_assert(kCount % 2 == 0);
  uint64_t all = 0;
  for (size_t i = 0; i < kCount / 2; ++i) all |= Load<uint64_t>(words + i * sizeof all);
  return static_cast<uint32_t>(all | all >> 32);
}

// All `count` of them below 2^48.
inline bool AreCounts(const std::byte* values, size_t count) {
  uint64_t all = 0;
  for (size_t i = 0; i < count; ++i) all |= Load<uint64_t>(values + i * sizeof all);
  return all < kMostCount;
}

inline constexpr uint16_t kMostTaskTypes = 1024;  // a few bits of a task's descriptor

}  // namespace check

// Sets of chips that several families tell apart.
namespace chips {
inline constexpr ChipSet kAll = kEveryChip, kNobody = {};
inline constexpr ChipSet k310 = Only({Chip::k310}), k910B = Only({Chip::k910B}),
                         k950 = profd::format::Families({Chip::k950});
inline constexpr ChipSet k310BLike = profd::format::Families({Chip::k310B});
inline constexpr ChipSet kBeforeStars = ChipsWith([](const ChipTraits& traits) { return !traits.stars; });
inline constexpr ChipSet kTenEvents =
    ChipsWith([](const ChipTraits& traits) { return traits.core_events == 10; });
inline constexpr ChipSet kWithBothCores =
    ChipsWith([](const ChipTraits& traits) { return traits.has_both_cores(); });
// Whose ports the vendor's parser reads, as text and as counters.
inline constexpr ChipSet kVendorNic = Only({Chip::k310, Chip::k910, Chip::k910B}) | k310BLike;
inline constexpr ChipSet kVendorNetdev = kBeforeStars | k910B | k310BLike;
}  // namespace chips

// Rows of the usual sorts.
namespace row {

inline bool IsStars(const std::byte* bytes) {
  return Load<uint16_t>(bytes + offsetof(StarsHeader, magic)) == kStarsMagic;
}

using Is = bool (*)(const std::byte* record);

// The check of one record, inlined into the loop over many.
template <Is kIs>
uint32_t Leading(const std::byte* data, uint32_t records, uint32_t record_bytes) {
  uint32_t count = 0;
  while (count < records && kIs(data + size_t{count} * record_bytes)) ++count;
  return count;
}

template <typename Record, Is kIs>
constexpr FramingRow Fixed(ChipSet chips, std::string_view file, StampDomain stamp, size_t stamp_offset,
                           Combine combine, uint32_t per_period) {
  return {chips,
          {file, Framing::kFixed, sizeof(Record), stamp, static_cast<uint32_t>(stamp_offset), combine,
           per_period, Leading<kIs>}};
}

// Records without a type of ours.
template <Is kIs>
constexpr FramingRow Sized(ChipSet chips, std::string_view file, uint32_t bytes, StampDomain stamp,
                           uint32_t stamp_offset) {
  return {chips, {file, Framing::kFixed, bytes, stamp, stamp_offset, Combine::kNone, 0, Leading<kIs>}};
}
constexpr FramingRow Sized(ChipSet chips, std::string_view file, uint32_t bytes) {
  return {chips, {file, Framing::kFixed, bytes, StampDomain::kNone, 0, Combine::kNone, 0, nullptr}};
}

constexpr FramingRow Lines(ChipSet chips, std::string_view file, uint8_t min_columns, uint8_t max_columns) {
  FramingRow entry = {chips, {}};
  entry.format.file = file;
  entry.format.framing = Framing::kLines;
  entry.format.combine = Combine::kThin;
  entry.format.records_per_period = 0;
  entry.format.min_columns = min_columns;
  entry.format.max_columns = max_columns;
  return entry;
}

// Lines that begin with a device time, and a header line that the driver sends once.
constexpr FramingRow Timed(std::string_view file, uint8_t min_columns, uint8_t max_columns,
                           std::string_view header) {
  FramingRow entry = Lines(chips::kAll, file, min_columns, max_columns);
  entry.format.stamp = StampDomain::kTextDeviceNs;
  entry.format.first_slice_header = header;
  return entry;
}

constexpr FramingRow Opaque(std::string_view file) {
  return {chips::kAll, {file, Framing::kOpaque, 0, StampDomain::kNone, 0, Combine::kNone, 0}};
}

// With what one unit and one tick of it are.
constexpr FramingRow With(FramingRow row, Units units, Tick first = {}, Tick second = {}, Tick third = {}) {
  row.units = units;
  row.ticks[0] = first, row.ticks[1] = second, row.ticks[2] = third;
  return row;
}

// Of the host: text that the vendor's parser reads on every chip.
constexpr DecoderEntry OfHost(std::string_view file, Kind kind, MakeDecoder* make,
                              std::string_view row = {}) {
  return {
      .file = file, .kind = kind, .of_host = true, .by = DecoderEntry::By::kLine, .row = row, .make = make};
}

}  // namespace row

// Record version 2.0.
namespace v2 {

// Wall clock ns between 2001 and 2096, or what version 1 has.
template <typename Record, uint64_t Record::*kWall>
uint32_t Plausible(const std::byte* data, uint32_t records, uint32_t) {
  constexpr uint64_t kLeast = 1'000'000'000'000'000'000, kMost = 4'000'000'000'000'000'000;
  constexpr uint32_t kMostEvents = 64, kMostIds = 64;
  uint32_t good = 0;
  for (; good < records; ++good) {
    const auto record = Load<Record>(data + size_t{good} * sizeof(Record));
    if constexpr (kWall != nullptr) {
      if (record.*kWall < kLeast || record.*kWall > kMost) break;
    }
    if (record.event >= kMostEvents) break;
    if constexpr (requires { record.hbm_id; }) {
      if (record.hbm_id >= kMostIds || record.event > 1) break;
    } else if constexpr (requires { record.llc_id; }) {
      if (record.llc_id >= kMostIds) break;
    } else if (record.event > 1 || record.time_us == 0 || record.time_us >> 50 != 0) {
      break;
    }
  }
  return good;
}

template <typename Record>
constexpr StreamFormat Format(std::string_view file, StampDomain stamp, size_t stamp_offset,
                              decltype(StreamFormat::plausible) plausible) {
  StreamFormat format;
  format.file = file;
  format.record_bytes = sizeof(Record);
  format.stamp = stamp;
  format.stamp_offset = static_cast<uint32_t>(stamp_offset);
  format.plausible = plausible;
  return format;
}

}  // namespace v2

}  // namespace profd::format
