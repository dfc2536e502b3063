// How the byte stream of a channel falls into records, and how to tell a record from damage. One entry per
// file kind; the framer, the combiner and the readers all work from this table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "format/chip.h"

namespace profd::format {

enum class Framing : uint8_t {
  kFixed,   // records of record_bytes
  kLines,   // text lines ending in '\n'; header lines start with a letter
  kOpaque,  // no structure known: bytes pass as they are
};

// How the stamp inside a record is read.
enum class StampDomain : uint8_t {
  kNone,
  kStartUs64,     // T1: µs since the channel's start, u64
  kStartUs32,     // T1, u32, wraps
  kDeviceNs,      // T2
  kDeviceTicks,   // T3
  kHostCounter,   // T4
  kTextDeviceNs,  // T2 as "<sec>:<nsec>"
};

constexpr bool CountsFromStart(StampDomain stamp) {
  return stamp == StampDomain::kStartUs64 || stamp == StampDomain::kStartUs32;
}

// How several periods become one for a session that asked for a lower rate than the channel runs at.
enum class Combine : uint8_t {
  kSum,        // counts of a period: added per key
  kMinMaxAvg,  // PCIe
  kThin,       // running totals and levels: the last of n
  kNone,       // event driven: everything passes
};

struct StreamFormat {
  std::string_view file;  // "hbm.data"; for framing purposes the key of the table
  Framing framing = Framing::kFixed;
  uint32_t record_bytes = 0;
  StampDomain stamp = StampDomain::kNone;
  uint32_t stamp_offset = 0;
  Combine combine = Combine::kNone;
  uint32_t records_per_period = 1;  // what one tick delivers (HBM: 8), 0 = varies
  // How many of the first `records` at `data` can be records of the kind, up to the first that cannot: magic,
  // enum fields, ranges. nullptr: any bytes can.
  uint32_t (*plausible)(const std::byte* data, uint32_t records, uint32_t record_bytes) = nullptr;
  // Text kinds: what the file starts with. The vendor's reader skips line 1 of every HCCS slice, whatever it
  // is; the headers of NIC, RoCE and DVPP are optional and only wanted at the top of the first slice.
  std::string_view every_slice_header = {};
  std::string_view first_slice_header = {};
  // kLines: how many columns a data line has, and which of them (bit per column) end in '%'. 0 = no shape
  // known.
  uint8_t min_columns = 0;
  uint8_t max_columns = 0;
  uint16_t percent_columns = 0;
  // kFixed: begins a text block that ends the stream and is no record. AI CPU: the names of its hashes.
  std::string_view trailer = {};
};

// True when `line`, without its '\n', can be a data line of a kLines kind: stamp, number of columns, digits.
bool PlausibleLine(const StreamFormat& format, std::string_view line);
// Names of columns: every word begins with a letter. A row that is damaged at its begin is none.
bool IsHeaderLine(std::string_view line);

// What carries the files of a device's own system (format/device_files.h): a stream, and no file of its own.
inline constexpr std::string_view kDevicePackets = "adprof";

// nullptr for a file kind this build does not know. Counters of cores are
// in files of the same names whether they were sampled or read out `by_task`.
const StreamFormat* FindStreamFormat(std::string_view file, Chip chip, bool by_task = false);
// Its records do not lie the same on every chip.
bool DiffersByChip(std::string_view file, bool by_task = false);

}  // namespace profd::format
