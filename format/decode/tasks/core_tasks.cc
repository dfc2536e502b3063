#include "format/decode/tasks/core_tasks.h"

#include <algorithm>
#include <iterator>

#include "format/kind.h"
#include "format/records/packed.h"
#include "format/records/tasks.h"

namespace profd::format {

namespace {

// FftsTaskRecord::kind
constexpr uint16_t kKindShift = 13;
constexpr uint16_t kAiCoreOnly = 0, kFftsPlus = 4, kMixOfAiCores = 5;
constexpr uint16_t kSubAiCore = 0, kSubMixOfAiCores = 6;

bool IsOfVectorCores(const FftsTaskRecord& record) {
  const uint16_t kind = record.kind >> kKindShift;
  const uint16_t sub = record.sub_type & 0xFF;
  if (kind == kFftsPlus) return sub != kSubAiCore && sub != kSubMixOfAiCores;
  return kind != kAiCoreOnly && kind != kMixOfAiCores;
}

}  // namespace

CoreTasks::Layout CoreTasks::LayoutOf(std::string_view file, Chip chip) {
  if (file == file::kAiCore) return chip == Chip::k310 ? Layout::kTrack : Layout::kAiCore;
  if (file == file::kVectorCore) return Layout::kVectorCore;
  return TraitsOf(chip).core_events == 10 ? Layout::kStars950 : Layout::kStars;
}

bool CoreTasks::ReadRecord(const std::byte* at, Read& read) {
  if (layout_ == Layout::kTrack) {
    const auto record = Load<TsEventCountRecord>(at);
    read.stream = record.stream & kStreamBits;
    read.task = record.task;
    read.count.cycles = record.cycles;
    read.count.blocks = record.blocks;
    std::copy(std::begin(record.event), std::end(record.event), read.count.event);
    return true;
  }
  if (!has_times()) {
    const auto record = Load<AicoreTaskRecord>(at);
    read.stream = record.stream & kStreamBits;
    read.task = record.task;
    read.count.vector = layout_ == Layout::kVectorCore;
    read.count.cycles = record.cycles;
    std::copy(std::begin(record.event), std::end(record.event), read.count.event);
    return true;
  }
  const auto header = Load<uint16_t>(at);
  if (Load<uint16_t>(at + sizeof header) != kStarsMagic) {
    ++foreign_;
    return false;
  }
  if (layout_ == Layout::kStars950) {
    const auto record = Load<CoreTaskRecord950>(at);
    if ((header & 0x3F) != kCoreTaskType950 || (record.flags & kCoreOverflow950) != 0) {
      ++other_;
      return false;
    }
    read.stream = record.stream;
    read.task = static_cast<uint32_t>(record.task) << 16 | record.stream;
    read.count = {record.start_ticks, record.end_ticks, (record.core_type & 1) != 0, record.cycles};
    std::copy(std::begin(record.event), std::end(record.event), read.count.event);
    return true;
  }
  const auto record = Load<FftsTaskRecord>(at);
  if ((header & 0x3F) != kFftsTaskType) {
    ++other_;
    return false;
  }
  const StarsIds ids = StarsIdsOf(record.stream, record.task, wide_);
  read.stream = ids.stream;
  read.task = ids.task;
  const uint64_t carry = (record.sub_type & kFftsOverflow) != 0 ? uint64_t{1} << 32 : 0;
  read.count = {record.start_ticks, record.end_ticks, IsOfVectorCores(record), record.cycles + carry};
  std::copy(std::begin(record.event), std::end(record.event), read.count.event);
  return true;
}

void CoreTasks::Take(std::span<const std::byte> records, std::vector<DeviceTask>* tasks) {
  if (layout_ == Layout::kTrack) {
    foreign_ += track_.Take(records, [&](const std::byte* at, const TsTrackHead& head) {
      ++records_;
      Read read;
      if (static_cast<TsTrackKind>(head.kind) != TsTrackKind::kEventCount) {
        ++other_;
      } else if (ReadRecord(at, read)) {
        Add(read, tasks);
      }
    });
    return;
  }
  const size_t size = RecordBytes(layout_);
  for (; records.size() >= size; records = records.subspan(size)) {
    ++records_;
    Read read;
    if (ReadRecord(records.data(), read)) Add(read, tasks);
  }
}

void CoreTasks::Add(const Read& read, std::vector<DeviceTask>* tasks) {
  newest_ticks_ = std::max(newest_ticks_, read.count.end_ticks);
  while (!order_.empty() && !waiting_.contains(order_.front())) order_.pop_front();  // found since
  if (waiting_records_ >= kMostWaiting || order_.size() >= 4 * kMostWaiting) DropOldest();
  const uint64_t key = Key(read.stream, read.task);
  waiting_[key].push_back(read.count);
  order_.push_back(key);
  ++waiting_records_;
  if (tasks == nullptr) return;
  constexpr uint8_t kAiCoreTask = 0, kVectorTask = 2, kVectorTask950 = 1;  // LoggedTaskTypeName()
  const uint8_t vector = layout_ == Layout::kStars950 ? kVectorTask950 : kVectorTask;
  tasks->push_back({.begin_ticks = read.count.begin_ticks,
                    .end_ticks = std::max(read.count.begin_ticks, read.count.end_ticks),
                    .stream = read.stream,
                    .task = read.task,
                    .type = read.count.vector ? vector : kAiCoreTask});
}

void CoreTasks::DropOldest() {
  while (!order_.empty()) {
    const auto oldest = waiting_.find(order_.front());
    order_.pop_front();
    if (oldest == waiting_.end()) continue;  // found since
    oldest->second.pop_front();
    if (oldest->second.empty()) waiting_.erase(oldest);
    --waiting_records_;
    ++no_task_;
    return;
  }
}

bool CoreTasks::Find(const DeviceTask& task, TaskCounters& counters) {
  const auto found = waiting_.find(Key(task.stream, task.task));
  if (found == waiting_.end()) return false;
  std::deque<Count>& counts = found->second;
  bool any = false;
  for (auto count = counts.begin(); count != counts.end();) {
    // Of tasks with the same ids that come later.
    if (has_times() && count->begin_ticks > task.end_ticks) break;
    if (has_times() && count->end_ticks < task.begin_ticks) {
      ++no_task_;
    } else {
      TaskCounters::Core& core = counters.core[count->vector ? 1 : 0];
      core.counted = any = true;
      core.cycles += count->cycles;
      core.blocks = count->blocks;
      if (layout_ == Layout::kStars950) core.busy_ticks += count->end_ticks - count->begin_ticks;
      for (size_t i = 0; i < TaskCounters::kEvents; ++i) core.event[i] += count->event[i];
    }
    count = counts.erase(count);
    --waiting_records_;
    if (!has_times()) break;  // one of this file is of one task
  }
  if (counts.empty()) waiting_.erase(found);
  return any;
}

}  // namespace profd::format
