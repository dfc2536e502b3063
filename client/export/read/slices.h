// Walks the slices of a stream and hands out whole records, or whole lines.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "client/export/read/capture.h"
#include "client/export/read/report.h"
#include "client/files/holes.h"
#include "format/check/stamp_spikes.h"
#include "format/decode/framing.h"

namespace profd::client {

// How far all threads of an export are, for who watches; and whether they shall give up.
struct Progress {
  std::atomic<uint64_t> bytes{0};
  std::atomic<bool> cancelled{false};
};

struct Framed {
  enum class By : uint8_t {
    kRecord,  // pieces are multiples of record_bytes
    kLine,    // pieces end in '\n', but the last one of the stream
    kCaller,  // pieces as they lie there; see StreamReader::Keep
  };
  By by = By::kCaller;
  uint32_t record_bytes = 0;  // kRecord
  // Tells what can be a record; anything else is left out and reported. nullptr: everything can.
  const format::StreamFormat* check = nullptr;
  // Where the stamps are; a record whose stamp jumps away by more than the tolerance is left out and
  // reported.
  const format::StreamFormat* stamps = nullptr;
  uint64_t stamps_per_second = 0, stamp_tolerance = 0;
  bool last_slice_only = false;
};

// **Thread:** one. **Owns:** one open slice, a buffer of 128 KiB and more. Records lie aligned to the end of
// a stream, as the vendor's parser has it, unless only another place makes sense; what a missing slice has
// cut is left out.
class StreamReader {
 public:
  StreamReader(const Capture& capture, const Stream& stream, const Framed& framed, Report& report,
               Progress* progress = nullptr);

  // The next bytes, good until the next call; empty at the end.
  std::span<const std::byte> Next();
  // kCaller: how many bytes at the end of the latest piece shall come again in front of the next one.
  void Keep(size_t bytes) { begin_ = end_ - std::min(bytes, end_); }
  // The latest piece is the first of a slice.
  bool begins_slice() const { return begins_slice_; }
  // Between the latest piece and the one before something is missing; after the last one: at the end.
  bool lost() const { return lost_; }
  uint64_t bytes_read() const { return read_; }
  // Which slice has byte number `position` of all that were read, and where in it.
  struct Place {
    std::string slice;  // "device_0/data/hbm.data.0.slice_3"
    uint64_t offset = 0;
  };
  Place At(uint64_t position) const;
  uint64_t piece_position() const { return piece_position_; }  // of the latest piece's first byte

 private:
  // What lies between two missing slices.
  struct Run {
    size_t end = 0;  // index of the slice behind it
    uint64_t bytes = 0;
  };

  // Where bytes were read from.
  struct Extent {
    uint64_t position = 0;  // of all that were read
    size_t slice = 0;       // index
    uint64_t offset = 0;    // in it
  };

  bool Open();
  void Fill();
  Holes::Ahead LookAhead();
  void SkipHole(uint64_t bytes);
  std::span<const std::byte> Piece(size_t bytes);
  void Align();
  size_t Records();
  size_t Lines();
  size_t BadBytes() const;
  // Some records from `at` on, or the one that is left there, are good.
  bool Good(size_t at) const;
  size_t GoodRecords(size_t at) const;
  size_t unread() const { return end_ - begin_; }
  void Skip(size_t bytes, uint64_t records, std::string why);

  const Stream& stream_;
  const Framed framed_;
  Report& report_;
  Progress* const progress_;
  base::UniqueFd folder_, fd_;
  size_t next_ = 0;  // the slice to open next
  std::optional<format::StampSpikes> spikes_;
  size_t run_begin_ = 0;
  Run run_;
  bool aligned_ = false, any_good_ = false;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0, end_ = 0;  // what of the buffer is unread
  uint64_t read_ = 0, piece_position_ = 0;
  std::vector<Extent> extents_;  // of the slices read so far
  uint64_t slice_left_ = 0;
  Holes holes_;  // of the slice that is open
  bool opened_ = false, begins_slice_ = false, lost_ = false;
};

}  // namespace profd::client
