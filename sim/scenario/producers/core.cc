// Core counters and TS CPU samples, taken by period.
#include <algorithm>
#include <array>
#include <iterator>

#include "format/records/device.h"
#include "sim/scenario/producers/channel_ids.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;
constexpr uint32_t kSampleMode = 1;
constexpr size_t kMaxEvents = 10;

struct CoreGroup {
  Flow busy;
  uint32_t first_core;
  uint32_t cores;
  uint32_t mask;  // bit per core; cores from 32 on are always in
  uint32_t event_count;
  std::array<uint32_t, kMaxEvents> event;
};

class CoreSampleProducer : public PeriodicProducer {
 public:
  CoreSampleProducer(const Environment& env, const StartRequest& request, uint32_t period_ms,
                     std::vector<CoreGroup> groups)
      : PeriodicProducer(env, request, period_ms * kMs), groups_(std::move(groups)) {}

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    std::vector<uint64_t> core_ids;
    std::vector<uint64_t> core_cycles;
    for (const CoreGroup& group : groups_) {
      const uint64_t from = env_.load->Total(group.busy, tick.from_ns);
      const uint64_t to = env_.load->Total(group.busy, tick.to_ns);
      for (uint32_t core = 0; core < group.cores; ++core) {
        if (core < 32 && (group.mask >> core & 1) == 0) continue;
        // Cores of a group work alike; the later ones get a little less to do.
        const uint32_t weight = env_.chip->aic_mhz * (1000 - core);
        const uint64_t cycles = Share(to, weight, 1'000'000) - Share(from, weight, 1'000'000);
        const auto number = static_cast<uint8_t>(group.first_core + core);
        if (env_.chip->is_950()) {
          format::CoreSampleRecord950 record{};
          record.ticks = tick.ticks;
          Fill(group, number, cycles, sample, record);
        } else {
          format::CoreSampleRecord record{};
          record.time_ns = tick.device_ns;
          Fill(group, number, cycles, sample, record);
        }
        if (!sample.wants_values()) continue;
        core_ids.push_back(number);
        core_cycles.push_back(cycles);
      }
    }
    sample.Values("core", core_ids);
    sample.Values("cycles", core_cycles);
    return env_.chip->is_950() ? tick.ticks : tick.device_ns;
  }

 private:
  // The share of the cycles that a counter sees is a function of its number.
  template <typename Record>
  static void Fill(const CoreGroup& group, uint8_t core, uint64_t cycles, Sample& sample, Record& record) {
    record.mode = kSampleMode;
    const size_t events = std::min<size_t>(group.event_count, std::size(record.event));
    for (size_t i = 0; i < events; ++i) {
      record.event[i] = cycles * (50 + Mix(group.event[i]) % 600) / 1000;
    }
    record.cycles = cycles;
    record.counters = static_cast<uint8_t>(events);
    record.core = core;
    sample.Append(record);
  }

  std::vector<CoreGroup> groups_;
};

// Channels 43 and 85: type, threshold, period, mask, count, events.
std::unique_ptr<Producer> MakePreStars(const Environment& env, const StartRequest& request) {
  if (request.Word(0) != kSampleMode) return nullptr;  // task mode: one record per task
  const bool vector = request.channel == channel::kAiv;
  CoreGroup group{.busy = vector ? Flow::kAivBusy : Flow::kAicBusy,
                  .first_core = vector ? env.chip->first_aiv_core : 0,
                  .cores = vector ? env.chip->aiv_count : env.chip->aic_count,
                  .mask = request.Word(3),
                  .event_count = std::min<uint32_t>(request.Word(4), 8),
                  .event = {}};
  for (uint32_t i = 0; i < group.event_count; ++i) group.event[i] = request.Word(5 + i);
  return std::make_unique<CoreSampleProducer>(env, request, std::max(request.Word(2), 1U),
                                              std::vector<CoreGroup>{group});
}

// Channel 54: which core kinds, then a block for each of the two.
std::unique_ptr<Producer> MakeStars(const Environment& env, const StartRequest& request) {
  constexpr uint32_t kAic = 1, kAiv = 2;
  const uint32_t kinds = request.Word(0);
  const uint32_t events = env.chip->pmu_events;
  const size_t block_bytes = 16 + 2 * events;
  std::vector<CoreGroup> groups;
  uint32_t period_ms = 0;
  for (const uint32_t kind : {kAic, kAiv}) {
    if ((kinds & kind) == 0) continue;
    const size_t block = 4 + (kind == kAic ? 0 : block_bytes);
    const size_t word = block / 4;
    CoreGroup group{.busy = kind == kAic ? Flow::kAicBusy : Flow::kAivBusy,
                    .first_core = kind == kAic ? 0 : env.chip->first_aiv_core,
                    .cores = kind == kAic ? env.chip->aic_count : env.chip->aiv_count,
                    .mask = request.Word(word + 2),
                    .event_count = std::min(request.Word(word + 3), events),
                    .event = {}};
    for (uint32_t i = 0; i < group.event_count; ++i) group.event[i] = request.Half(block + 16 + 2 * i);
    if (period_ms == 0) period_ms = request.Word(word + 1);
    groups.push_back(group);
  }
  return std::make_unique<CoreSampleProducer>(env, request, std::max(period_ms, 1U), std::move(groups));
}

class TscpuProducer : public PeriodicProducer {
 public:
  TscpuProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, std::max(request.Word(0), 1U) * kMs) {
    const uint32_t count = std::min<uint32_t>(request.Word(1), std::size(format::TsCpuRecord{}.counter));
    for (uint32_t i = 0; i < count; ++i) events_.push_back(request.Word(2 + i));
  }

 protected:
  static constexpr uint64_t kCyclesEvent = 0x11;
  static constexpr uint64_t kFunctions[] = {0x40001000, 0x40002340, 0x400051c8, 0x40007e10, 0x4000a004};

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const uint64_t cycles = Flowed(Flow::kTscpuBusy, tick);  // of a 1 GHz core
    format::TsCpuRecord record{};
    record.magic = format::kTsCpuMagic;
    record.pc = kFunctions[Mix(tick.number) % std::size(kFunctions)];
    record.back_trace[0] = 0x7f000;
    record.back_trace[1] = record.pc + 0x40;
    record.ticks = tick.ticks;
    std::vector<uint64_t> counts;
    for (size_t i = 0; i < events_.size(); ++i) {
      const uint64_t count =
          events_[i] == kCyclesEvent ? cycles : cycles * (50 + Mix(events_[i]) % 900) / 1000;
      record.counter[i] = {.event = events_[i], .count = count};
      if (sample.wants_values()) counts.push_back(count);
    }
    sample.Append(record);
    sample.Value("pc", record.pc);
    sample.Values("count", counts);
    return tick.ticks;
  }

 private:
  std::vector<uint64_t> events_;
};

}  // namespace

std::unique_ptr<Producer> MakeCoreProducer(const Environment& env, const StartRequest& request) {
  switch (request.channel) {
    case channel::kAicore:
    case channel::kAiv:
      return MakePreStars(env, request);
    case channel::kFftsSample:
      return MakeStars(env, request);
    case channel::kTscpu:
      return std::make_unique<TscpuProducer>(env, request);
    default:
      return nullptr;
  }
}

}  // namespace profd::sim
