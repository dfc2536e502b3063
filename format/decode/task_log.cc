#include "format/decode/task_log.h"

#include <string_view>

#include "format/records/device.h"
#include "format/records/packed.h"
#include "format/records/tasks.h"

namespace profd::format {

namespace {

constexpr uint32_t kStart = 0, kEnd = 1;
constexpr uint32_t kSubStart = 0b100010, kSubEnd = 0b100011;
constexpr size_t kContextAt = 18;  // of a sub task's record

}  // namespace

StarsIds StarsIdsOf(uint32_t stream, uint32_t task) {
  if (stream & 0x1000) return {stream & kStreamBits, (task & 0x1FFF) | (stream & 0xE000)};
  if (stream & 0x2000) return {task & kStreamBits, (stream & 0x0FFF) | (task & 0xF000)};
  return {stream & kStreamBits, task};
}

TaskLog::Layout TaskLog::LayoutOf(std::string_view file, uint32_t chip) {
  if (file.starts_with("hwts")) return Layout::kHwts;
  return chip == 15 || chip == 16 ? Layout::kStars950 : Layout::kStars;
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

void TaskLog::Take(std::span<const std::byte> records, std::vector<DeviceTask>& tasks) {
  const size_t size = RecordBytes(layout_);
  for (; records.size() >= size; records = records.subspan(size)) {
    ++records_;
    const std::byte* at = records.data();
    uint32_t kind = 0, context = UINT32_MAX;
    StarsIds id;
    uint64_t ticks = 0;
    uint8_t type = 0;
    if (layout_ == Layout::kHwts) {
      const auto record = Load<HwtsRecord>(at);
      kind = record.type_count & 7;
      id = {record.stream & kStreamBits, record.task};
      ticks = record.ticks;
      type = record.task_type;
    } else {
      const auto header = Load<uint16_t>(at);
      const auto stream = Load<uint16_t>(at + 4), task = Load<uint16_t>(at + 6);
      if (Load<uint16_t>(at + 2) != kStarsMagic) {
        ++foreign_;
        continue;
      }
      kind = header & 0x3F;
      type = static_cast<uint8_t>(header >> 10);
      ticks = Load<uint64_t>(at + 8);
      if (layout_ == Layout::kStars950) {
        id = {stream, static_cast<uint32_t>(task) << 16 | stream};
      } else if (kind == kSubStart || kind == kSubEnd) {
        id = StarsIdsOf(stream, task);
        context = Load<uint16_t>(at + kContextAt);
        type = static_cast<uint8_t>(Load<uint16_t>(at + 16) & 0xFF);
        kind = kind == kSubStart ? kStart : kEnd;
      } else {
        id = StarsIdsOf(stream, task);
      }
    }
    if (kind != kStart && kind != kEnd) {
      ++other_;
      continue;
    }
    // 16 bits of the stream, 32 of the task, 16 of the context: no two tasks that run at once share them.
    const uint64_t key = static_cast<uint64_t>(id.stream & 0xFFFF) << 48 |
                         static_cast<uint64_t>(context & 0xFFFF) << 32 | id.task;
    if (kind == kStart) {
      has_begun_.set(id.stream & 0xFFFF);
      Start(key, ticks, type);
      continue;
    }
    const Running* running = running_.Find(key);
    if (running == nullptr) {
      ++(has_begun_.test(id.stream & 0xFFFF) ? no_start_ : cut_at_begin_);
      continue;
    }
    if (running->ticks <= ticks) {
      tasks.push_back({running->ticks, ticks, id.stream, id.task, context, running->type});
    } else {
      ++no_start_, ++no_end_;
    }
    running_.Erase(key);
  }
}

}  // namespace profd::format
