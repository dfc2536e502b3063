// What the task scheduler logs: the same tasks, streams and ids in every channel.
#include <algorithm>
#include <cstring>
#include <iterator>

#include "format/records/tasks.h"
#include "sim/scenario/channel_ids.h"
#include "sim/scenario/producer.h"

namespace profd::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;

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
        static_cast<uint16_t>(type | (count_++ & 0xF) << 6 | static_cast<uint32_t>(event.task.kind) << 10);
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
    constexpr size_t kEventsOffset = 20;
    for (uint32_t i = 0; i < std::min<uint32_t>(request.Word(4), 8); ++i) {
      events_.push_back(request.Half(kEventsOffset + 2 * i));
    }
  }

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind == Task::Kind::kCommunication) return;
    format::FftsTaskRecord record{};
    record.header = static_cast<uint16_t>(format::kFftsTaskType | (count_++ & 0xF) << 6);
    record.magic = format::kStarsMagic;
    record.stream = event.task.stream;
    record.task = event.task.id;
    record.cycles = Cycles(event.task);
    for (size_t i = 0; i < events_.size(); ++i)
      record.event[i] = Counted(record.cycles, events_[i], event.task.index);
    record.start_ticks = Ticks(event.task.start_ns);
    record.end_ticks = Ticks(event.task.end_ns);
    sample.Append(record);
    TaskValues(event, sample);
    sample.Value("cycles", record.cycles);
  }

 private:
  std::vector<uint64_t> events_;
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
    record.mode = 1;
    record.task = event.task.id;
    record.stream = event.task.stream;
    record.cycles = Cycles(event.task);
    for (size_t i = 0; i < events_.size(); ++i)
      record.event[i] = Counted(record.cycles, events_[i], event.task.index);
    sample.Append(record);
    TaskValues(event, sample);
    sample.Value("cycles", record.cycles);
  }

 private:
  Task::Kind kind_;
  std::vector<uint64_t> events_;
};

// Channel 45.
class HwtsProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    format::HwtsRecord record{};
    record.type_count = static_cast<uint8_t>((event.end ? 1U : 0U) | (count_++ & 0xF) << 4);
    record.task_type = static_cast<uint8_t>(event.task.kind);
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

void AppendKeyPoint(const TaskStory::Event& event, uint64_t ticks, Sample& sample) {
  constexpr uint64_t kModel = 1;
  constexpr uint16_t kBegin = 0, kEnd = 1;
  format::TsStepTraceRecord record{};
  record.head = TrackHead(format::TsTrackKind::kStepTrace, ticks);
  record.index = event.task.index / TaskStory::kTasksPerStep;
  record.model = kModel;
  record.stream = event.task.stream;
  record.task = event.task.id;
  record.tag = event.end ? kEnd : kBegin;
  sample.Append(record);
}

// Channel 44: the kind of every task when it starts, and the steps.
class TrackProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    const uint64_t ticks = Ticks(event.at_ns);
    if (IsKeyPoint(event)) AppendKeyPoint(event, ticks, sample);
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
    AppendKeyPoint(event, Ticks(event.at_ns), sample);
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
    for (size_t at = kHead; at + kHead < request.payload.size(); at += kHead + request.Half(at + 2)) {
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
    record.head[0] = event.task.stream;
    record.head[1] = event.task.id;
    record.start_ticks = Ticks(event.task.start_ns);
    record.end_ticks = Ticks(event.task.end_ns);
    sample.Append(record);
    TaskValues(event, sample);
  }
};

// Channels 148 and 151: delays of the channels, after each communication task.
class CcuChannelProducer : public TaskProducer {
 public:
  using TaskProducer::TaskProducer;

 protected:
  void Encode(const TaskStory::Event& event, Sample& sample) override {
    if (!event.end || event.task.kind != Task::Kind::kCommunication) return;
    format::CcuChannelRecord record{};
    for (size_t i = 0; i < std::size(record.value); ++i) {
      record.value[i] = 200 + static_cast<uint32_t>(Mix(event.task.index, i) % 800);
    }
    sample.Append(record);
    TaskValues(event, sample);
  }
};

}  // namespace

std::unique_ptr<Producer> MakeTaskProducer(const Environment& env, const StartRequest& request) {
  switch (request.channel) {
    case channel::kTsfw:
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
