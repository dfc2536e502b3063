// Counters of the cores that were read out at the end of tasks: ffts_profile.data, aicore.data and
// aiVectorCore.data where sample.json says "task-based".
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "format/chip.h"
#include "format/decode/tasks/task_log.h"
#include "format/decode/track_records.h"
#include "format/events/spans.h"

namespace profd::format {

// Records and the tasks that they are of. Both come nearly in the order of the tasks' ends. **Thread:** one.
class CoreTasks {
 public:
  enum class Layout : uint8_t {
    kAiCore,      // aicore.data: chips before STARS; without times
    kVectorCore,  // aiVectorCore.data
    kTrack,       // aicore.data of a 310: records of the scheduler's firmware
    kStars,       // ffts_profile.data
    kStars950,    // the same, ten counters, task ids of 32 bits
  };
  static constexpr size_t kMostWaiting = 1 << 16;

  explicit CoreTasks(Layout layout, bool wide_streams = false) : layout_(layout), wide_(wide_streams) {}

  static Layout LayoutOf(std::string_view file, Chip chip);
  // kTrack: what all sizes are multiples of.
  static size_t RecordBytes(Layout layout) { return layout == Layout::kTrack ? kUnitBytes : 128; }
  Layout layout() const { return layout_; }
  bool has_times() const { return layout_ == Layout::kStars || layout_ == Layout::kStars950; }

  // Whole records, or units. `tasks`, if any, gets a task for each: of a log that is not there.
  void Take(std::span<const std::byte> records, std::vector<DeviceTask>* tasks = nullptr);
  // Records of tasks that end by then have been taken; without times nobody knows.
  bool Reaches(uint64_t end_ticks) const { return has_times() && newest_ticks_ > end_ticks; }
  // Adds what was counted during the task; false: nothing, as far as is known. Each record is found once.
  bool Find(const DeviceTask& task, TaskCounters& counters);

  size_t waiting() const { return waiting_records_; }
  uint64_t records() const { return records_; }
  uint64_t foreign() const { return foreign_; }  // without the magic, or units of no record
  uint64_t other() const { return other_; }      // of blocks, or with a counter that ran over
  uint64_t no_task() const { return no_task_ + waiting_records_; }

 private:
  struct Count {
    uint64_t begin_ticks = 0, end_ticks = 0;
    bool vector = false;
    uint64_t cycles = 0;
    uint64_t event[TaskCounters::kEvents] = {};
    uint32_t blocks = 0;
  };
  struct Read {
    uint32_t stream = 0, task = 0;
    Count count;
  };
  bool ReadRecord(const std::byte* at, Read& read);
  void Add(const Read& read, std::vector<DeviceTask>* tasks);
  static uint64_t Key(uint32_t stream, uint32_t task) { return static_cast<uint64_t>(stream) << 32 | task; }
  void DropOldest();

  const Layout layout_;
  const bool wide_;
  TrackRecords track_;
  std::unordered_map<uint64_t, std::deque<Count>> waiting_;  // by stream and task
  std::deque<uint64_t> order_;                               // keys, as their records came
  size_t waiting_records_ = 0;
  uint64_t newest_ticks_ = 0, records_ = 0, foreign_ = 0, other_ = 0, no_task_ = 0;
};

}  // namespace profd::format
