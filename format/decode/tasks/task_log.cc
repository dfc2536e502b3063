#include "format/decode/tasks/task_log.h"

#include <string_view>

#include "format/decode/family.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/records/packed.h"
#include "format/records/tasks.h"

namespace profd::format {

namespace {

static_assert(sizeof(HwtsRecord) == sizeof(StarsTaskRecord));

constexpr uint32_t kStart = 0, kEnd = 1;
constexpr uint32_t kSubStart = 0b100010, kSubEnd = 0b100011;
constexpr size_t kContextAt = 18;                      // of a sub task's record
constexpr uint8_t kPlaceHolder = 3, kEventRecord = 4;  // tasks whose ids never borrow

}  // namespace

StarsIds StarsIdsOf(uint32_t stream, uint32_t task, bool wide, uint8_t type) {
  if (wide) {
    const bool borrows = (stream & ~kWideStreamBits) != 0 && type != kPlaceHolder && type != kEventRecord;
    if (!borrows) return {stream & kWideStreamBits, task};
    return {task & kWideStreamBits, (task & ~kWideStreamBits) | (stream & kWideStreamBits)};
  }
  if (stream & 0x1000) return {stream & kStreamBits, (task & 0x1FFF) | (stream & 0xE000)};
  if (stream & 0x2000) return {task & kStreamBits, (stream & 0x0FFF) | (task & 0xF000)};
  return {stream & kStreamBits, task};
}

TaskLog::Layout TaskLog::LayoutOf(std::string_view file, Chip chip) {
  if (file.starts_with("ts_track")) return Layout::kTimeLine;
  if (file.starts_with("hwts")) return Layout::kHwts;
  return Is950(chip) ? Layout::kStars950 : Layout::kStars;
}

size_t TaskLog::RecordBytes(Layout layout) {
  switch (layout) {
    case Layout::kHwts:
    case Layout::kStars:
      return sizeof(StarsTaskRecord);
    case Layout::kStars950:
      return sizeof(StarsTaskRecord950);
    case Layout::kTimeLine:
      return kUnitBytes;
  }
  return kUnitBytes;
}

void TaskLog::Start(uint64_t key, uint64_t ticks, uint8_t type) {
  Running* running = running_.Find(key);
  if (running != nullptr) {
    ++no_end_;  // of the one before
  } else if ((running = running_.FindOrAdd(key)) == nullptr) {
    ++no_end_;
    return;
  }
  *running = {ticks, type};
}

template <TaskLog::Layout layout>
bool TaskLog::ReadRecord(const std::byte* at, Event& event) {
  uint32_t kind = 0;
  if constexpr (layout == Layout::kHwts) {
    const auto record = Load<HwtsRecord>(at);
    kind = record.type_count & 7;
    event.id = {record.stream & kStreamBits, record.task};
    event.ticks = record.ticks;
    event.type = record.task_type;
  } else {
    const auto header = Load<uint16_t>(at);
    const auto stream = Load<uint16_t>(at + 4), task = Load<uint16_t>(at + 6);
    if (Load<uint16_t>(at + 2) != kStarsMagic) {
      ++foreign_;
      return false;
    }
    kind = header & 0x3F;
    event.type = static_cast<uint8_t>(header >> 10);
    event.ticks = Load<uint64_t>(at + 8);
    if constexpr (layout == Layout::kStars950) {
      event.id = {stream, static_cast<uint32_t>(task) << 16 | stream};
    } else if (kind == kSubStart || kind == kSubEnd) {
      event.id = StarsIdsOf(stream, task, wide_, event.type);
      event.context = Load<uint16_t>(at + kContextAt);
      event.type = static_cast<uint8_t>(Load<uint16_t>(at + 16) & 0xFF);
      kind = kind == kSubStart ? kStart : kEnd;
    } else {
      event.id = StarsIdsOf(stream, task, wide_, event.type);
    }
  }
  event.is_end = kind == kEnd;
  if (kind == kStart || kind == kEnd) return true;
  ++other_;
  return false;
}

// What was waited for before it ran is in no output.
bool TaskLog::ReadState(const std::byte* at, const TsTrackHead& head, Event& event) {
  if (static_cast<TsTrackKind>(head.kind) != TsTrackKind::kTimeLine) return false;
  ++records_;
  const auto record = Load<TsTimeLineRecord>(at);
  const auto state = static_cast<TsTaskState>(record.state);
  if (state != TsTaskState::kRunning && state != TsTaskState::kComplete) return false;
  event.id = {record.stream & kStreamBits, record.task};
  event.ticks = record.ticks;
  event.type = static_cast<uint8_t>(record.type);
  event.is_end = state == TsTaskState::kComplete;
  return true;
}

void TaskLog::Add(const Event& event, std::vector<DeviceTask>& tasks) {
  const StarsIds id = event.id;
  // 16 bits of the stream, 32 of the task, 16 of the context: no two tasks that run at once share them.
  const uint64_t key = static_cast<uint64_t>(id.stream & 0xFFFF) << 48 |
                       static_cast<uint64_t>(event.context & 0xFFFF) << 32 | id.task;
  if (!event.is_end) {
    has_begun_.set(id.stream & 0xFFFF);
    return Start(key, event.ticks, event.type);
  }
  const Running* running = running_.Find(key);
  if (running == nullptr) {
    ++(has_begun_.test(id.stream & 0xFFFF) ? no_start_ : cut_at_begin_);
    return;
  }
  if (running->ticks <= event.ticks) {
    tasks.push_back({running->ticks, event.ticks, id.stream, id.task, event.context, running->type});
  } else {
    ++no_start_, ++no_end_;
  }
  running_.Erase(key);
}

template <TaskLog::Layout layout>
void TaskLog::TakeRecords(std::span<const std::byte> records, std::vector<DeviceTask>& tasks) {
  const size_t size = RecordBytes(layout);
  for (; records.size() >= size; records = records.subspan(size)) {
    ++records_;
    Event event;
    if (ReadRecord<layout>(records.data(), event)) Add(event, tasks);
  }
}

void TaskLog::Take(std::span<const std::byte> records, std::vector<DeviceTask>& tasks) {
  if (layout_ == Layout::kTimeLine) {
    foreign_ += track_.Take(records, [&](const std::byte* at, const TsTrackHead& head) {
      Event event;
      if (ReadState(at, head, event)) Add(event, tasks);
    });
    return;
  }
  switch (layout_) {
    case Layout::kHwts:
      return TakeRecords<Layout::kHwts>(records, tasks);
    case Layout::kStars:
      return TakeRecords<Layout::kStars>(records, tasks);
    case Layout::kStars950:
      return TakeRecords<Layout::kStars950>(records, tasks);
    case Layout::kTimeLine:
      break;
  }
}

namespace {

constexpr FramingRow kFramings[] = {
    row::Sized<row::IsStars>(chips::kTenEvents, file::kStarsLog, 32, StampDomain::kDeviceTicks,
                             offsetof(StarsHeader, ticks)),
    row::Sized<row::IsStars>(chips::kAll & ~chips::kTenEvents, file::kStarsLog, 64, StampDomain::kDeviceTicks,
                             offsetof(StarsHeader, ticks)),
    row::Sized(chips::kAll, file::kTaskLog, 64),
    row::Sized(chips::kAll, file::kVectorTaskLog, 64),
};

}  // namespace

namespace family {
Family TaskLog() { return {.framings = kFramings}; }
}  // namespace family

}  // namespace profd::format
