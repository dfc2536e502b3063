#include "daemon/driver/ascend/start/start_para.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "daemon/driver/ascend/start/channels.h"
#include "daemon/driver/ascend/start/core_metrics.h"
#include "daemon/driver/ascend/start/instr.h"
#include "daemon/driver/ascend/start/qos_streams.h"
#include "daemon/driver/ascend/start/soc_pmu.h"
#include "format/preset.h"

namespace profd::driver {

using format::Kind;

namespace {

constexpr uint32_t kTaskScheduler = 0;
constexpr uint32_t kPeripheral = 1;

constexpr uint32_t kMinPeriodMs = 10;
constexpr uint32_t kOn = 1;
constexpr uint32_t kTaskMode = 0, kSampleMode = 1;    // channels 43, 85
constexpr uint32_t kTaskBits = 1 << 0 | 1 << 3;       // channel 53: task, sub-task
constexpr uint32_t kSampleBits = 1 << 1 | 1 << 3;     // channel 54: sample, sub-task
constexpr uint32_t kAlmostFull = 32 * 1024 * 8 / 10;  // of the firmware's sample buffer
constexpr uint32_t kAllMasters = 0xFFFFFFFF;
constexpr uint32_t kRead = 0, kWrite = 1;  // hbm, ddr
constexpr uint32_t kLlcRead = 1, kLlcWrite = 2;
constexpr uint32_t kAppMemory = 0, kDeviceMemory = 1;
constexpr uint32_t kCpuCycles = 0x11, kInstructions = 0x8;
constexpr uint32_t kFixedPeriodMs = 100;  // low-power, qos: what the call itself is told
constexpr uint32_t kSystemPeriodMs =
    40;  // how often packets come; what they tell of is sampled as the process is told
constexpr uint32_t kAccPmuPeriodMs = 20;  // whatever the rate
constexpr uint32_t kPowerPeriodUs = 10'000;
constexpr uint32_t kTrackPeriodMs = 20;
constexpr uint32_t kCopies = 0x82000001 | 0x84000001, kFirmware = 0x81000001;
constexpr uint32_t kBlockBit = 1 << 2;  // channel 53: blocks

// Appends native (little-endian) integers to the payload.
class Payload {
 public:
  explicit Payload(StartPara& para) : para_(para) {}

  template <typename Integer>
  Payload& Put(Integer value) {
    std::memcpy(para_.user_data.data() + para_.user_data_size, &value, sizeof value);
    para_.user_data_size += sizeof value;
    return *this;
  }
  template <typename... Words>
  Payload& Words32(Words... words) {
    (Put(static_cast<uint32_t>(words)), ...);
    return *this;
  }

 private:
  StartPara& para_;
};

// One bit per core; masks have 32.
uint32_t CoreMask(int64_t cores) {
  return cores >= 32 ? ~uint32_t{0} : (uint32_t{1} << std::max<int64_t>(cores, 0)) - 1;
}

void PutQosStreams(Payload& out, const std::vector<QosStream>& streams) {
  const size_t count = std::min(streams.size(), kQosSlots);
  out.Put(static_cast<uint16_t>(count)).Put(uint16_t{0});
  for (size_t i = 0; i < kQosSlots; ++i) out.Put(i < count ? streams[i].mpam_id : uint8_t{0});
}

using Events = std::vector<uint32_t>;

Events EventsOf(const Events& asked, const DeviceFacts& device, CoreType type) {
  return asked.empty() ? CoreEvents({}, device.chip, type) : asked;
}

// Channels 43 and 85: chips before STARS, one core type each.
void PutCores(StartPara& para, const Events& events, int64_t cores, const StartChoice& choice) {
  constexpr size_t kSlots = 8;
  Payload out(para);
  para.channel_type = kTaskScheduler;
  if (choice.by_task) para.period_ms = 0;
  out.Words32(choice.by_task ? kTaskMode : kSampleMode, choice.by_task ? 0 : kAlmostFull, para.period_ms,
              choice.by_task ? 0 : CoreMask(cores), events.size());
  for (size_t i = 0; i < kSlots; ++i) out.Words32(i < events.size() ? events[i] : 0);
  out.Words32(0);  // tag: start at once
}

// How the cores of one type are counted.
struct CoreBlock {
  bool wanted = false;
  uint32_t type = 0, period_ms = 0;
};

void PutCoreBlock(Payload& out, const CoreBlock& block, const Events& events, int64_t cores, size_t slots) {
  const bool wanted = block.wanted;
  out.Words32(wanted ? block.type : 0, block.period_ms, wanted ? CoreMask(cores) : 0,
              wanted ? events.size() : 0);
  for (size_t i = 0; i < slots; ++i) {
    out.Put(wanted && i < events.size() ? static_cast<uint16_t>(events[i]) : uint16_t{0});
  }
}

// Channels 53 and 54: STARS chips, both core types in one start.
void PutCoreBlocks(StartPara& para, const DeviceFacts& device, const StartChoice& choice,
                   const CoreBlock& ai_core, const CoreBlock& ai_vector) {
  const bool ten = format::TraitsOf(device.chip).core_events == 10;
  const size_t slots = ten ? 10 : 8;
  Payload out(para);
  para.channel_type = kTaskScheduler;
  out.Words32((ai_core.wanted ? 1 : 0) | (ai_vector.wanted ? 2 : 0));
  PutCoreBlock(out, ai_core, EventsOf(choice.ai_core_events, device, CoreType::kAiCore), device.ai_core_num,
               slots);
  PutCoreBlock(out, ai_vector, EventsOf(choice.ai_vector_events, device, CoreType::kVectorCore),
               device.aiv_num, slots);
  if (ten) {
    out.Words32(0, 0, 0);  // tag, block shrink, scale: all cores
    para.period_ms = ai_core.wanted ? ai_core.period_ms : ai_vector.period_ms;
  } else {
    out.Put(uint16_t{0}).Put(uint16_t{0});  // tag, scale: all cores
    para.period_ms = 0;
  }
}

// Channel 52: pairs of switch and period for accelerator PMU, on-chip, inter-die, inter-chip, power,
// scheduler, UB.
void PutSocProfile(StartPara& para, const DeviceFacts& device, const StartChoice& choice) {
  const bool fine = format::TraitsOf(device.chip).fine_soc_profile;
  const uint32_t period = fine ? choice.period.us : choice.period.ms;
  Payload out(para);
  const auto put_pair = [&out](bool on, uint32_t its_period) {
    out.Words32(on ? kOn : 0, on ? its_period : 0);
  };
  put_pair(choice.soc_memory, kAccPmuPeriodMs);
  put_pair(choice.soc_memory, period);
  put_pair(choice.soc_links, period);
  put_pair(choice.soc_links, period);
  put_pair(fine && choice.mode != kSocUnits, kPowerPeriodUs);
  put_pair(false, 0);
  put_pair(false, 0);
  if (fine) {
    if (choice.soc_memory) {
      out.Words32(period);
      PutQosStreams(out, choice.streams);
    } else {
      para.user_data_size += sizeof(uint32_t) + 2 * sizeof(uint16_t) + kQosSlots;  // all zero: no streams
    }
  }
  para.period_ms = 0;
}

}  // namespace

bool LogsBlocks(std::string_view task_mode) {
  return TaskModeHas(task_mode, kTaskBlocks) || TaskModeHas(task_mode, kTaskFewBlocks);
}

Period PeriodOf(double hz) {
  return {.ms = std::max(static_cast<uint32_t>(1000 / hz), kMinPeriodMs),
          .us = static_cast<uint32_t>(1'000'000 / hz)};
}

base::Status CheckMode(Kind kind, std::string_view mode, const DeviceFacts& device) {
  if (mode.starts_with(kCustomMode)) return CustomEvents(mode, device.chip).status();
  if (kind == Kind::kSocPmu && !mode.empty()) return SocPmuOf(mode, device.chip).status();
  if (kind == Kind::kQos) return StreamsOf(mode, device).status();
  if (kind == Kind::kInstr) return CyclesOf(mode).status();
  return {};
}

double EffectiveHz(uint32_t channel, const DeviceFacts& device, const Period& period, std::string_view mode) {
  if (InstrIndex(channel)) return InstrHz(device, mode);
  if (period.ms == 0) return 0;
  if (channel == channel::kSocProfile && format::TraitsOf(device.chip).fine_soc_profile)
    return 1e6 / period.us;
  return 1e3 / period.ms;
}

StartPara MakeStartPara(uint32_t channel, const DeviceFacts& device, const StartChoice& choice) {
  StartPara para;
  para.channel_type = kPeripheral;
  para.period_ms = choice.period.ms;
  const uint32_t period = choice.period.ms;
  Payload out(para);
  switch (channel) {
    case channel::kHbm:
    case channel::kDdr:
      out.Words32(period, kAllMasters, 2, kRead, kWrite);
      break;
    case channel::kLlc:
      out.Words32(period, choice.mode == "write" ? kLlcWrite : kLlcRead);
      break;
    case channel::kNpuAppMem:
      out.Words32(period, 0, kAppMemory, 0);
      break;
    case channel::kNpuMem:
      out.Words32(period, 0, kDeviceMemory, 0);
      break;
    case channel::kNpuModuleMem:
      out.Words32(period, choice.host_counter_known ? 1 : 0, 0, 0);
      break;
    case channel::kLowPower:
      para.period_ms = kFixedPeriodMs;
      out.Words32(kFixedPeriodMs, 1);
      break;
    case channel::kQos:
      para.period_ms = kFixedPeriodMs;
      out.Words32(choice.period.us / 1000);  // whatever the call's floor
      PutQosStreams(out, choice.streams);
      break;
    case channel::kAiCpu:
    case channel::kCustomAiCpu:
      para.period_ms = device.chip == Chip::k950 && choice.api_version >= kApiFastAiCpu ? 5 : 10;
      break;
    case channel::kDeviceSystem:
      para.period_ms = kSystemPeriodMs;
      break;
    case channel::kTaskTrack:
      para.channel_type = kTaskScheduler;
      para.period_ms = format::TraitsOf(device.chip).core_events == 10 ? 0 : kTrackPeriodMs;
      // Tasks, CPU use, AI cores, timeline, vector cores, key points, copies, block numbers. Where no other
      // channel logs tasks, their timeline.
      out.Words32(para.period_ms, 0, 0, 0, device.chip == Chip::k310 ? kOn : 0, 0, kOn,
                  TaskModeHas(choice.mode, kTaskFirmware) ? kCopies | kFirmware : kCopies, kOn);
      break;
    case channel::kTaskLog:
      para.channel_type = kTaskScheduler;
      para.period_ms = 0;
      out.Words32(0);  // tag: start at once
      break;
    case channel::kStarsLog:
      para.channel_type = kTaskScheduler;
      para.period_ms = 0;
      // Tasks of queues and their sub-tasks; not: accelerators, cdqm, dvpp × 3, sdma. Before and behind the
      // tag: blocks, and whether their number shrinks.
      out.Words32(kOn, 0, 0, 0, 0, 0, kOn, LogsBlocks(choice.mode) ? kOn : 0, 0, 0,
                  TaskModeHas(choice.mode, kTaskFewBlocks) ? kOn : 0);
      break;
    case channel::kL2Cache: {
      para.channel_type = kTaskScheduler;
      para.period_ms = 0;
      const std::span<const uint16_t> events = L2CacheEvents(device.chip);
      out.Words32(events.size());
      for (const uint16_t event : events) out.Words32(event);
      break;
    }
    case channel::kSocPmu:
      para.channel_type = kTaskScheduler;
      para.period_ms = 0;
      PutSocPmu(para, SocPmuOfStart(choice.mode.empty() ? kHitRates : choice.mode, device.chip,
                                    choice.api_version));
      break;
    case channel::kTsCpu:
      para.channel_type = kTaskScheduler;
      out.Words32(period, 2, kInstructions, kCpuCycles);
      break;
    case channel::kAiCore:
      PutCores(para, EventsOf(choice.ai_core_events, device, CoreType::kAiCore), device.ai_core_num, choice);
      break;
    case channel::kAiVector:
      PutCores(para, EventsOf(choice.ai_vector_events, device, CoreType::kVectorCore), device.aiv_num,
               choice);
      break;
    case channel::kCoreTask: {
      const uint32_t type = choice.task_blocks ? kTaskBits | kBlockBit : kTaskBits;
      PutCoreBlocks(para, device, choice, {choice.ai_core_tasks, type, 0}, {choice.ai_vector_tasks, type, 0});
      break;
    }
    case channel::kCoreSample:
      PutCoreBlocks(para, device, choice,
                    {choice.ai_core_period_ms != 0, kSampleBits, choice.ai_core_period_ms},
                    {choice.ai_vector_period_ms != 0, kSampleBits, choice.ai_vector_period_ms});
      break;
    case channel::kSocProfile:
      PutSocProfile(para, device, choice);
      break;
    case channel::kCcu0Missions:
    case channel::kCcu1Missions:
    case channel::kCcu0Channels:
    case channel::kCcu1Channels:
      para.channel_type = kTaskScheduler;
      para.period_ms = 0;
      break;
    default:  // pcie hccs nic roce ub dvpp: the period says all
      if (!InstrIndex(channel)) break;
      para.channel_type = kTaskScheduler;
      para.period_ms = 0;
      PutInstr(para, channel, device, choice.mode, choice.api_version);
      break;
  }
  return para;
}

namespace {

// Kinds whose presence turns on the memory or the link units of soc-profile.
bool IsMemoryKind(Kind kind) { return kind == Kind::kQos || format::FindPreset("memory")->of_node.Has(kind); }
bool IsLinkKind(Kind kind) { return kind == Kind::kPcie || kind == Kind::kHccs; }

}  // namespace

StartPara StartOf(uint32_t channel, const Asked& asked, std::span<const Asked> all, const DeviceFacts& device,
                  const StartFacts& facts) {
  StartChoice choice;
  bool power_alone = false;
  choice.api_version = facts.api_version;
  choice.host_counter_known = facts.host_counter_known;
  choice.streams = StreamsOf(kFirstStreams, device).value();
  for (const Asked& one : all) {
    const Kind kind = one.capability->kind;
    const auto events = [&](CoreType type) {
      return CoreEvents(one.mode, device.chip, type, facts.main_memory_anew);
    };
    choice.task_blocks = choice.task_blocks || (kind == Kind::kTask && LogsBlocks(one.mode));
    choice.ai_core_tasks = choice.ai_core_tasks || kind == Kind::kAiCoreTask;
    choice.ai_vector_tasks = choice.ai_vector_tasks || kind == Kind::kAiVectorTask;
    if (kind == Kind::kAiCore || kind == Kind::kAiCoreTask) {
      choice.ai_core_period_ms = one.period.ms;
      choice.ai_core_events = events(CoreType::kAiCore);
    } else if (kind == Kind::kAiVector || kind == Kind::kAiVectorTask) {
      choice.ai_vector_period_ms = one.period.ms;
      choice.ai_vector_events = events(CoreType::kVectorCore);
    }
    if (kind == Kind::kQos) choice.streams = StreamsOf(one.mode, device).value();
    power_alone = power_alone || (kind == Kind::kSocProfile && one.mode == kSocPower);
    choice.soc_memory = choice.soc_memory || IsMemoryKind(kind);
    choice.soc_links = choice.soc_links || IsLinkKind(kind);
  }
  if (!choice.soc_memory && !choice.soc_links && !power_alone)
    choice.soc_memory = choice.soc_links = true;  // asked for alone
  choice.period = asked.period;
  choice.by_task = asked.capability->by_task;
  choice.mode = asked.mode;
  return MakeStartPara(channel, device, choice);
}

}  // namespace profd::driver
