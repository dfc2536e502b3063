// Device tasks out of a scheduler's log of their starts and ends.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/flat_map.h"
#include "format/chip.h"
#include "format/decode/track_records.h"

namespace profd::format {

struct DeviceTask {
  uint64_t begin_ticks = 0, end_ticks = 0;  // T3
  uint32_t stream = 0, task = 0;
  uint32_t context = UINT32_MAX;  // sub task
  uint8_t type = 0;               // LoggedTaskTypeName()
};

// Ids that need more bits than they have borrow from each other; flags in the stream say how. `wide`: streams
// have 15 bits (SideFacts::wide_streams), and it depends on the task's type in the log, too.
struct StarsIds {
  uint32_t stream = 0, task = 0;
};
StarsIds StarsIdsOf(uint32_t stream, uint32_t task, bool wide, uint8_t type = 0);

// Finds the start of every end. Records come in the order of the log, which is nearly that of their times.
// **Thread:** one.
class TaskLog {
 public:
  enum class Layout : uint8_t {
    kHwts,      // hwts.data: chips before STARS
    kStars,     // stars_soc.data
    kStars950,  // the same, records half as long, task ids of 32 bits
    kTimeLine,  // ts_track.data of a 310
  };
  explicit TaskLog(Layout layout, bool wide_streams = false) : layout_(layout), wide_(wide_streams) {}

  static Layout LayoutOf(std::string_view file, Chip chip);
  // kTimeLine: what all sizes are multiples of.
  static size_t RecordBytes(Layout layout);

  // Whole records, or units of the time line. Appends the tasks that end in them.
  void Take(std::span<const std::byte> records, std::vector<DeviceTask>& tasks);

  Layout layout() const { return layout_; }
  uint64_t records() const { return records_; }
  uint64_t foreign() const { return foreign_; }    // without the magic, or units of no record
  uint64_t other() const { return other_; }        // of kinds that are no tasks
  uint64_t no_start() const { return no_start_; }  // ends
  uint64_t no_end() const { return no_end_; }      // starts
  // What a recording of a device at work always has: ends of what ran when it began, before any start of
  // their stream, and starts whose end did not come yet.
  uint64_t cut_at_begin() const { return cut_at_begin_; }
  uint64_t cut_at_end() const { return running_.size(); }

 private:
  static constexpr size_t kMaxRunning = 1 << 18;
  struct Running {
    uint64_t ticks = 0;
    uint8_t type = 0;
  };
  // A record of any layout.
  struct Event {
    StarsIds id;
    uint32_t context = UINT32_MAX;
    uint64_t ticks = 0;
    uint8_t type = 0;
    bool is_end = false;
  };
  template <Layout layout>
  bool ReadRecord(const std::byte* at, Event& event);
  template <Layout layout>
  void TakeRecords(std::span<const std::byte> records, std::vector<DeviceTask>& tasks);
  bool ReadState(const std::byte* at, const TsTrackHead& head, Event& event);
  void Add(const Event& event, std::vector<DeviceTask>& tasks);
  void Start(uint64_t key, uint64_t ticks, uint8_t type);

  const Layout layout_;
  const bool wide_;
  base::FlatMap<Running> running_{kMaxRunning};
  uint64_t records_ = 0, foreign_ = 0, other_ = 0, no_start_ = 0, no_end_ = 0, cut_at_begin_ = 0;
  std::bitset<size_t{1} << 16> has_begun_;  // by stream
  TrackRecords track_;
};

}  // namespace profd::format
