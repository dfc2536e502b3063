// What the task scheduler logs: the same tasks, streams and ids in every channel.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "format/records/tasks.h"
#include "sim/scenario/producers/channel_ids.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {
namespace {

// How the scheduler's log names a kind of task: cores, vector cores, and what a part of a collective is.
uint32_t LoggedType(const Chip& chip, const Task& task) {
  constexpr uint32_t kNotifyRecord = 6, kNotifyWait = 7, kSdma = 11, kCcu = 16;
  if (task.kind == Task::Kind::kAic) return 0;
  if (task.kind == Task::Kind::kAiv) return chip.is_950() ? 1 : 2;
  switch (TaskStory::PartKind(chip, task)) {
    case TaskStory::Part::kNotified:
      return kNotifyWait;
    case TaskStory::Part::kNotifies:
      return kNotifyRecord;
    case TaskStory::Part::kByCcu:
      return kCcu;
    default:
      return kSdma;
  }
}

// Channel 50.
class StarsLogProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (env_.chip->is_950()) {
      Append(format::StarsTaskRecord950{}, event, sample);
    } else {
      Append(format::StarsTaskRecord{}, event, sample);
    }
    TaskValues(event, sample);
  }

 private:
  template <typename Record>
  void Append(Record record, const TaskStory::Event& event, Sample& sample) {
    const auto type =
        static_cast<uint32_t>(event.end ? format::StarsLogType::kEnd : format::StarsLogType::kStart);
    record.header =
        static_cast<uint16_t>(type | (count_++ & 0xF) << 6 | LoggedType(*env_.chip, event.task) << 10);
    record.magic = format::kStarsMagic;
    record.stream = event.task.stream;
    record.task = event.task.id;
    record.ticks = Ticks(event.at_ns);
    sample.Append(record);
  }
  uint32_t count_ = 0;
};

// Channel 53: counters at the end of a task that ran on cores.
class FftsTaskProducer : public TaskProducer {
 public:
  FftsTaskProducer(const Environment& env, const StartRequest& request) : TaskProducer(env, request) {
    constexpr size_t kBlockHead = 16;
    const size_t block_bytes = kBlockHead + 2 * env.chip->pmu_events;
    for (size_t type = 0; type < 2; ++type) {
      counted_[type] = (request.Word(0) >> type & 1) != 0;
      const size_t block = 4 + type * block_bytes;
      const uint32_t count = std::min(request.Word(block / 4 + 3), env.chip->pmu_events);
      for (uint32_t i = 0; i < count; ++i) events_[type].push_back(request.Half(block + kBlockHead + 2 * i));
    }
  }

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind == Task::Kind::kCommunication) return;
    const size_t type = event.task.kind == Task::Kind::kAiv ? 1 : 0;
    if (!counted_[type]) return;
    if (env_.chip->is_950()) {
      format::CoreTaskRecord950 record{};
      record.core_type = static_cast<uint8_t>(type);
      record.flags = format::kCoreMain950;  // no task runs on cores of both types
      Append(record, format::kCoreTaskType950, events_[type], event, sample);
    } else {
      format::FftsTaskRecord record{};
      constexpr uint32_t kKindShift = 13;
      record.kind = static_cast<uint16_t>(type << kKindShift);
      Append(record, format::kFftsTaskType, events_[type], event, sample);
    }
  }

 private:
  template <typename Record>
  void Append(Record record, uint32_t type, const std::vector<uint64_t>& events,
              const TaskStory::Event& event, Sample& sample) {
    record.header = static_cast<uint16_t>(type | (count_++ & 0xF) << 6);
    record.magic = format::kStarsMagic;
    record.stream = event.task.stream;
    record.task = event.task.id;
    record.cycles = Cycles(event.task);
    std::vector<uint64_t> counts;
    for (size_t i = 0; i < std::min(events.size(), std::size(record.event)); ++i) {
      record.event[i] = Counted(record.cycles, events[i], event.task.index);
      counts.push_back(record.event[i]);
    }
    record.start_ticks = Ticks(event.task.start_ns);
    record.end_ticks = Ticks(event.task.end_ns);
    sample.Append(record);
    TaskValues(event, sample);
    sample.Value("cycles", uint64_t{record.cycles});
    sample.Values("count", counts);
  }

  bool counted_[2] = {};
  std::vector<uint64_t> events_[2];  // of AI cores, of vector cores
  uint32_t count_ = 0;
};

// Channels 43 and 85 in task mode.
class AicoreTaskProducer : public TaskProducer {
 public:
  AicoreTaskProducer(const Environment& env, const StartRequest& request)
      : TaskProducer(env, request),
        kind_(request.channel == channel::kAiv ? Task::Kind::kAiv : Task::Kind::kAic) {
    for (uint32_t i = 0; i < std::min<uint32_t>(request.Word(4), 8); ++i)
      events_.push_back(request.Word(5 + i));
  }

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind != kind_) return;
    format::AicoreTaskRecord record{};
    record.mode = static_cast<uint8_t>(count_++ << 4 | 1);  // a reader counts along, to see losses
    record.task = event.task.id;
    record.stream = event.task.stream;
    Count(event, sample, record);
  }

  template <typename Record>
  void Count(const TaskStory::Event& event, Sample& sample, Record& record) const {
    record.cycles = Cycles(event.task);
    for (size_t i = 0; i < events_.size(); ++i)
      record.event[i] = Counted(record.cycles, events_[i], event.task.index);
    sample.Append(record);
    TaskValues(event, sample);
    sample.Value("cycles", record.cycles);
    sample.Values("count", std::vector<uint64_t>(record.event, record.event + events_.size()));
  }

 private:
  Task::Kind kind_;
  std::vector<uint64_t> events_;
  uint32_t count_ = 0;
};

// Channel 43 of a 310 in task mode: what the firmware counted.
class EventCountProducer : public AicoreTaskProducer {
 public:
  using AicoreTaskProducer::AicoreTaskProducer;

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind != Task::Kind::kAic) return;
    format::TsEventCountRecord record{};
    record.kind = static_cast<uint8_t>(format::TsTrackKind::kEventCount);
    record.size = sizeof record;
    record.stream = event.task.stream;
    record.task = event.task.id;
    record.overflow_cycles = UINT64_MAX;  // of no overflow
    record.ticks = Ticks(event.at_ns);
    record.blocks = static_cast<uint16_t>(env_.chip->aic_count);
    Count(event, sample, record);
  }
};

// Channel 45.
class HwtsProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    format::HwtsRecord record{};
    record.type_count = static_cast<uint8_t>((event.end ? 1U : 0U) | (count_++ & 0xF) << 4);
    constexpr uint8_t kAiCore = 0, kVectorCore = 2, kSdma = 9;
    constexpr uint8_t kTypes[] = {kAiCore, kVectorCore, kSdma};
    record.task_type = kTypes[static_cast<size_t>(event.task.kind)];
    record.task = event.task.id;
    record.stream = event.task.stream;
    record.ticks = Ticks(event.at_ns);
    sample.Append(record);
    TaskValues(event, sample);
  }

 private:
  uint32_t count_ = 0;
};

format::TsTrackHead TrackHead(format::TsTrackKind kind, uint64_t ticks) {
  return {.mode = 0,
          .kind = static_cast<uint8_t>(kind),
          .size = sizeof(format::TsTaskTypeRecord),
          .reserved = 0,
          .ticks = ticks};
}

// First task's start and last task's end of a step, as the step's key points.
bool IsKeyPoint(const TaskStory::Event& event) {
  const uint64_t in_step = event.task.index % TaskStory::kTasksPerStep;
  return event.end ? in_step == TaskStory::kTasksPerStep - 1 : in_step == 0;
}

template <typename Record>
void AppendKeyPoint(Record record, const TaskStory::Event& event, uint64_t ticks, Sample& sample) {
  constexpr uint64_t kModel = 1;
  constexpr uint16_t kBegin = 0, kEnd = 1;
  record.head = TrackHead(format::TsTrackKind::kStepTrace, ticks);
  record.index = event.task.index / TaskStory::kTasksPerStep;
  record.model = kModel;
  record.stream = event.task.stream;
  record.task = event.task.id;
  record.tag = event.end ? kEnd : kBegin;
  sample.Append(record);
}
void AppendKeyPoint(const Chip& chip, const TaskStory::Event& event, uint64_t ticks, Sample& sample) {
  if (chip.is_950()) return AppendKeyPoint(format::TsStepTraceRecord950{}, event, ticks, sample);
  AppendKeyPoint(format::TsStepTraceRecord{}, event, ticks, sample);
}

// Channel 44 of a 310, if its time line is asked for: the states of every task, and the steps. Its firmware
// hands out the tasks, which no other log has; the kinds that those of later chips have its reader stops at.
class TimeLineProducer : public TaskProducer {
 public:
  TimeLineProducer(const Environment& env, const StartRequest& request)
      : TaskProducer(env, request), with_tasks_(request.Word(kTimeLineWord) == 1) {}

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    using enum format::TsTaskState;
    const uint64_t ticks = Ticks(event.at_ns);
    if (IsKeyPoint(event)) AppendKeyPoint(*env_.chip, event, ticks, sample);
    if (with_tasks_) {
      const bool on_cores = event.task.kind == Task::Kind::kAic;
      if (event.end) {
        if (on_cores) Append(event, kAiCoreDone, ticks, sample);
        Append(event, kComplete, ticks, sample);
      } else {
        Append(event, kWaiting, ticks - kWaited, sample);
        Append(event, kRunning, ticks, sample);
        if (on_cores) Append(event, kAiCoreStart, ticks, sample);
      }
    }
    TaskValues(event, sample);
  }

 private:
  static constexpr size_t kTimeLineWord = 4;
  static constexpr uint64_t kWaited = 20;  // ticks

  static void Append(const TaskStory::Event& event, format::TsTaskState state, uint64_t ticks,
                     Sample& sample) {
    constexpr uint16_t kAiCore = 0, kAiCpu = 1, kMemoryCopy = 17;  // it has no vector cores
    constexpr uint16_t kTypes[] = {kAiCore, kAiCpu, kMemoryCopy};
    format::TsTimeLineRecord record{};
    record.kind = static_cast<uint8_t>(format::TsTrackKind::kTimeLine);
    record.size = sizeof record;
    record.type = kTypes[static_cast<size_t>(event.task.kind)];
    record.state = static_cast<uint16_t>(state);
    record.stream = event.task.stream;
    record.task = event.task.id;
    record.ticks = ticks;
    sample.Append(record);
  }

  const bool with_tasks_;
};

// Channel 44: the kind of every task when it starts, and the steps.
class TrackProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    const uint64_t ticks = Ticks(event.at_ns);
    if (IsKeyPoint(event)) AppendKeyPoint(*env_.chip, event, ticks, sample);
    if (!event.end) {
      format::TsTaskTypeRecord record{};
      record.head = TrackHead(format::TsTrackKind::kTaskType, ticks);
      record.stream = event.task.stream;
      record.task = event.task.id;
      record.type = static_cast<uint16_t>(event.task.kind);
      sample.Append(record);
    }
    TaskValues(event, sample);
  }
};

// Channel 46: the steps alone.
class KeyPointProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!IsKeyPoint(event)) return;
    AppendKeyPoint(*env_.chip, event, Ticks(event.at_ns), sample);
    TaskValues(event, sample);
  }
};

// Counters of caches: some count requests, some hits, the others what is rare.
uint64_t Requested(uint64_t requests, uint64_t event_number, uint64_t salt) {
  constexpr uint64_t kRequests[] = {0x00, 0x59, 0x78, 0x79, 0x8a, 0xfb, 0xfc};
  constexpr uint64_t kHits[] = {0x5b, 0x6a, 0x8c, 0x8d, 0x90, 0x91};
  const uint64_t chance = Mix(event_number, salt);
  const auto among = [event_number](const auto& events) {
    return std::find(std::begin(events), std::end(events), event_number) != std::end(events);
  };
  if (among(kRequests)) return requests + chance % 100;
  return requests * (among(kHits) ? 350 + chance % 100 : chance % 100) / 1000;
}

// Channel 47.
class L2Producer : public TaskProducer {
 public:
  L2Producer(const Environment& env, const StartRequest& request) : TaskProducer(env, request) {
    for (uint32_t i = 0; i < std::min<uint32_t>(request.Word(0), 8); ++i)
      events_.push_back(request.Word(1 + i));
  }

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind == Task::Kind::kCommunication) return;
    format::L2CacheRecord record{};
    record.type = static_cast<uint16_t>(event.task.kind);
    record.stream = event.task.stream;
    record.task = event.task.id;
    std::vector<uint64_t> counts;
    for (size_t i = 0; i < events_.size(); ++i) {
      record.event[i] = Requested(Cycles(event.task) / 16, events_[i], event.task.index);
      counts.push_back(record.event[i]);
    }
    sample.Append(record);
    TaskValues(event, sample);
    sample.Values("count", counts);
  }

 private:
  std::vector<uint64_t> events_;
};

// Channel 134: a record per unit that was asked for, of every task that ran on cores.
class SocPmuProducer : public TaskProducer {
 public:
  SocPmuProducer(const Environment& env, const StartRequest& request) : TaskProducer(env, request) {
    constexpr size_t kHead = 4;
    constexpr uint16_t kPageFaults = 4;  // the job has none
    for (size_t at = kHead; at + kHead < request.payload.size(); at += kHead + request.Half(at + 2)) {
      if (request.Half(at) == kPageFaults) continue;
      Unit unit{.type = request.Half(at), .events = {}};
      const size_t count =
          std::min<size_t>(request.Half(at + kHead), std::size(format::SocPmuRecord{}.event));
      for (size_t i = 0; i < count; ++i) unit.events.push_back(request.Half(at + 2 * kHead + 2 * i));
      units_.push_back(std::move(unit));
    }
  }

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind == Task::Kind::kCommunication) return;
    TaskValues(event, sample);
    for (const Unit& unit : units_) {
      if (env_.chip->is_950()) {
        Append(format::SocPmuRecord950{}, unit, event, sample);
      } else {
        Append(format::SocPmuRecord{}, unit, event, sample);
      }
    }
  }

 private:
  struct Unit {
    uint16_t type;
    std::vector<uint64_t> events;
  };

  template <typename Record>
  void Append(Record record, const Unit& unit, const TaskStory::Event& event, Sample& sample) const {
    constexpr std::string_view kNames[] = {"", "ha", "smmu", "noc"};
    record.data_type = unit.type;
    record.task_type = static_cast<uint16_t>(event.task.kind);
    record.stream = event.task.stream;
    record.task = event.task.id;
    std::vector<uint64_t> counts;
    for (size_t i = 0; i < unit.events.size(); ++i) {
      record.event[i] = Requested(Cycles(event.task) / 64, unit.events[i], event.task.index);
      counts.push_back(record.event[i]);
    }
    sample.Append(record);
    if (unit.type < std::size(kNames)) sample.Values(kNames[unit.type], counts);
  }

  std::vector<Unit> units_;
};

// Channels 147 and 149: one mission per communication task.
class CcuMissionProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind != Task::Kind::kCommunication) return;
    format::CcuMissionRecord record{};
    record.stream = event.task.stream;
    record.task = event.task.id;
    record.instruction = static_cast<uint16_t>(Mix(event.task.index) % 512);
    record.start_ticks = Ticks(event.task.start_ns);
    record.end_ticks = Ticks(event.task.end_ns);
    // Every other one waits for seven ranks.
    if (event.task.index % 2 == 0) {
      record.notify_ticks = record.start_ticks;
      record.notify_instruction = static_cast<uint16_t>(record.instruction + 1);
      for (size_t rank = 0; rank < 7; ++rank) {
        record.notify_ended[rank] = static_cast<uint16_t>(1 + Mix(event.task.index, rank) % 20'000);
      }
    }
    sample.Append(record);
    TaskValues(event, sample);
    sample.Value("instruction", uint64_t{record.instruction});
    sample.Value("ticks", record.end_ticks - record.start_ticks);
  }
};

// Channels 148 and 151: how long packets took through the channels in each communication task.
class CcuChannelProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

 protected:
  static constexpr size_t kChannelsInUse = 126;  // also of the last, which lie otherwise

  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind != Task::Kind::kCommunication) return;
    format::CcuChannelRecord record{};
    const uint64_t ticks = Ticks(event.at_ns);
    std::vector<uint64_t> averages;
    for (size_t channel = 0; channel < kChannelsInUse; ++channel) {
      uint32_t* const words = record.value + format::CcuWordsOf(channel);
      const auto average = 200 + 2 * static_cast<uint32_t>(Mix(event.task.index, channel) % 400);
      words[0] = static_cast<uint32_t>(ticks);
      words[1] = static_cast<uint32_t>(ticks >> 32);
      words[2] = average;
      words[3] = average / 2;
      words[4] = average * 2;
      averages.push_back(average);
    }
    sample.Append(record);
    TaskValues(event, sample);
    sample.Values("average", averages);
  }
};

}  // namespace

std::unique_ptr<Producer> MakeTaskProducer(const Environment& env, const StartRequest& request) {
  switch (request.channel) {
    case channel::kTsfw:
      if (env.chip->id == format::Chip::k310) return std::make_unique<TimeLineProducer>(env, request);
      return std::make_unique<TrackProducer>(env, request);
    case channel::kHwts:
      return std::make_unique<HwtsProducer>(env, request);
    case channel::kKeyPoint:
      return std::make_unique<KeyPointProducer>(env, request);
    case channel::kL2:
      return std::make_unique<L2Producer>(env, request);
    case channel::kStarsLog:
      return std::make_unique<StarsLogProducer>(env, request);
    case channel::kFftsTask:
      return std::make_unique<FftsTaskProducer>(env, request);
    case channel::kAicore:
      if (env.chip->id == format::Chip::k310) return std::make_unique<EventCountProducer>(env, request);
      [[fallthrough]];
    case channel::kAiv:
      return std::make_unique<AicoreTaskProducer>(env, request);
    case channel::kSocPmu:
      return std::make_unique<SocPmuProducer>(env, request);
    case channel::kCcu0Instr:
    case channel::kCcu1Instr:
      return std::make_unique<CcuMissionProducer>(env, request);
    case channel::kCcu0Stat:
    case channel::kCcu1Stat:
      return std::make_unique<CcuChannelProducer>(env, request);
    default:
      return nullptr;
  }
}

}  // namespace profd::sim
