// Which decoder reads which file of a PROF directory.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "format/chip.h"
#include "format/decode/decoder.h"
#include "format/decode/framing.h"
#include "format/kind.h"

namespace profd::format {

inline constexpr uint32_t kUnitBytes = 8;

struct DecoderEntry {
  enum class By : uint8_t {
    kRecord,  // of one size
    kLine,    // text
    kUnits,   // of several sizes, all multiples of kUnitBytes; the decoder finds them
  };
  std::string_view file;  // "hbm.data"; behind the number of a process: "-Memory.data"
  Kind kind = Kind::kHbm;
  bool of_host = false;
  By by = By::kRecord;
  StampDomain stamp = StampDomain::kNone;
  ChipSet layout_chips = kEveryChip;        // whose files are laid out like this
  ChipSet vendor_chips = kEveryChip;        // whose files the vendor's parser reads
  const StreamFormat* format_v2 = nullptr;  // kRecord: record version 2.0, where it differs
  bool in_order = false;                    // records of later periods never lie in front of earlier ones
  std::string_view only_without = {};       // a file of the same side that tells the same
  bool vendor_reads_last_slice_only = false;
  bool of_tasks = false;      // tells more of tasks, whose names come before it
  std::string_view row = {};  // kLine: what the first line of every row begins with
  std::unique_ptr<Decoder> (*make)(const DecodeContext& context, std::string_view file,
                                   int64_t pid) = nullptr;
};

std::span<const DecoderEntry> DecoderEntries();

// The entry for a file ("4711-Memory.data") of a side; `pid` becomes 4711, or 0. nullptr: nobody reads it.
const DecoderEntry* FindDecoder(std::string_view file, const SideFacts& side, int64_t& pid);
// How the records of a kRecord entry lie and what they can be; nullptr: not known for this chip. `checks`:
// whether its check of single records holds on this side, whose clocks may only just have begun to run.
const StreamFormat* RecordFormat(const DecoderEntry& entry, std::string_view file, const SideFacts& side,
                                 bool& checks);
// Units of a record's stamp per second; 0: they tell nothing.
uint64_t StampsPerSecond(const StreamFormat& format, const SideFacts& side);
// The records of `file`, which `entry` reads, do not lie the same on every chip.
bool NeedsChip(const DecoderEntry& entry, std::string_view file, const SideFacts& side);

// Every series there is, by its name; nullptr: there is none of that name. Names are for ever: outputs refer
// to them.
const Series* FindSeries(std::string_view name);

bool VendorReads(const DecoderEntry& entry, Chip chip);

}  // namespace profd::format
