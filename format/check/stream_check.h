// What the files of a stream must look like: for `profctl verify`, and for mending what a killed profd left.
// Pure: bytes in, findings out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "format/chip.h"
#include "format/decode/framing.h"

namespace profd::format {

// How the bytes of one file kind of a PROF directory fall into records.
struct FileShape {
  enum class What : uint8_t {
    kFixed,    // records of one size, see `format`
    kText,     // lines; of the device: see `format`
    kLanes,    // blocks of records (agent_blocks.h)
    kNames,    // blocks of names
    kUnknown,  // nothing can be said
  };
  What what = What::kUnknown;
  const StreamFormat* format = nullptr;  // device kinds only
  // kText: what the first line of each record begins with; empty = each line is a record.
  std::string_view row;
  bool counted = true;  // the number of records follows from the bytes
};
// The number of "device_<N>".
std::optional<int> DeviceOfFolder(std::string_view folder);
// `folder` is "host", "device_<N>" or profd's own; `file` is without device and slice; `cores_by_task` as
// CoresByTask() says of the folder's sample.json. Of Chip::kUnknown nothing is said that depends on it.
FileShape ShapeOf(std::string_view folder, std::string_view file, Chip chip, bool cores_by_task = false);

// How many of the first `records` of a kFixed kind can be records: plausible, and with a stamp. One without
// is good where a stream may begin at 0 (`needs_stamp` false) and the record is more than zeros.
uint32_t LeadingRecords(const StreamFormat& format, const std::byte* data, uint32_t records,
                        bool needs_stamp);

struct Finding {
  uint64_t offset = 0;  // in the stream: its slices one behind the other
  std::string what;
};

// **Thread:** one. Checks a stream from its first byte to its last, in pieces of any size.
class StreamCheck {
 public:
  static constexpr size_t kMaxFindings = 8;

  // `from_start`: nothing was removed at the front.
  StreamCheck(const FileShape& shape, bool from_start) : shape_(shape), from_start_(from_start) {}

  // Takes whole records from the front of `bytes` and answers how many bytes they are; the rest comes again,
  // with more behind it. `last`: here a record must end, so everything is taken.
  size_t Take(std::span<const std::byte> bytes, bool last);
  // Bytes that belong to no record.
  void Skip(uint64_t bytes) { at_ += bytes; }

  const std::vector<Finding>& findings() const { return findings_; }
  uint64_t more_findings() const { return more_findings_; }  // beyond kMaxFindings
  uint64_t offset() const { return at_; }
  uint64_t header_bytes() const { return header_bytes_; }
  std::optional<uint64_t> records() const {
    return counted_ && shape_.counted ? std::optional(records_) : std::nullopt;
  }
  const std::map<uint32_t, uint64_t>& lane_records() const { return lane_records_; }

 private:
  size_t TakeFixed(std::span<const std::byte> bytes, bool last);
  size_t TakeText(std::span<const std::byte> bytes, bool last);
  size_t TakeBlocks(std::span<const std::byte> bytes, bool last);
  void TakeLine(std::string_view line, size_t offset);
  void Find(uint64_t offset, std::string what);

  const FileShape shape_;
  const bool from_start_;
  std::vector<Finding> findings_;
  uint64_t more_findings_ = 0;
  uint64_t at_ = 0;
  uint64_t records_ = 0;
  uint64_t header_bytes_ = 0;
  uint64_t damaged_to_ = UINT64_MAX;  // end of the latest damage
  bool counted_ = true;
  bool in_trailer_ = false;
  uint64_t names_at_ = 0;
  std::map<uint32_t, uint64_t> next_seq_;  // by lane
  std::map<uint32_t, uint64_t> lane_records_;
};

// Where the whole records of a file end whose writer was killed. A killed append may have ended at a page's
// edge, or have left its last page and zeros up to there (daemon/store/slice.cc); `page_bytes` is the
// writer's. `window` is the end of the file, from `window_at` on: a record edge of kFixed, a multiple of 8
// else.
uint64_t WholeEnd(const FileShape& shape, std::span<const std::byte> window, uint64_t window_at,
                  uint64_t page_bytes);

// Control files that profd only writes otherwise. The chip of info.json, device or host.
std::optional<Chip> ChipOf(std::string_view info_json);
// The size that a `.done` marker names.
std::optional<uint64_t> DoneBytes(std::string_view done);

}  // namespace profd::format
