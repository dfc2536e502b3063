// HBM, DDR, LLC, memory in use, QoS.
#include <algorithm>
#include <array>

#include "format/records/device.h"
#include "sim/scenario/producers/channel_ids.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {
namespace {

constexpr uint64_t kMs = 1'000'000;

// Traffic of the four HBM ids: nearly even, as on hardware.
constexpr std::array<uint32_t, 4> kHbmWeight = {253, 251, 249, 247};
constexpr uint32_t kHbmWeights = 1000;
constexpr uint64_t kHbmUnit = 32;

// The events asked for in the payload of HBM and DDR: period, master, count, events.
std::vector<uint32_t> AskedEvents(const StartRequest& request) {
  std::vector<uint32_t> events;
  const uint32_t count = request.Word(2);
  for (uint32_t i = 0; i < count; ++i) events.push_back(request.Word(3 + i));
  std::sort(events.begin(), events.end());
  events.erase(std::unique(events.begin(), events.end()), events.end());
  return events;
}

class HbmProducer : public PeriodicProducer {
 public:
  HbmProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, request.period_ms * kMs), events_(AskedEvents(request)) {}

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    for (const uint32_t event : events_) {
      const Flow flow = event == 0 ? Flow::kHbmRead : Flow::kHbmWrite;
      const uint64_t from = env_.load->Total(flow, tick.from_ns) / kHbmUnit;
      const uint64_t to = env_.load->Total(flow, tick.to_ns) / kHbmUnit;
      std::array<uint64_t, 4> counts;
      std::array<double, 4> mb_s;
      for (uint32_t id = 0; id < counts.size(); ++id) {
        counts[id] = Share(to, kHbmWeight[id], kHbmWeights) - Share(from, kHbmWeight[id], kHbmWeights);
        mb_s[id] = static_cast<double>(counts[id]) * kHbmUnit / kMebibyte / tick.seconds;
        sample.Append(format::HbmRecord{
            .time_us = tick.since_start_us, .count = counts[id], .event = event, .hbm_id = id});
      }
      sample.Values(event == 0 ? "read_count" : "write_count", counts);
      sample.Values(event == 0 ? "read_mb_s" : "write_mb_s", mb_s);
    }
    return tick.since_start_us;
  }

 private:
  std::vector<uint32_t> events_;
};

class DdrProducer : public PeriodicProducer {
 public:
  DdrProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, request.period_ms * kMs),
        events_(AskedEvents(request)),
        master_(request.Word(1)) {}

 protected:
  static constexpr uint32_t kControllers = 2;

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const auto stamp = static_cast<uint32_t>(tick.since_start_us);
    for (const uint32_t event : events_) {
      const Flow flow = event == 0 ? Flow::kDdrRead : Flow::kDdrWrite;
      const uint64_t unit = env_.chip->ddr_unit_bytes;
      const uint64_t count =
          (env_.load->Total(flow, tick.to_ns) / unit) - (env_.load->Total(flow, tick.from_ns) / unit);
      uint64_t written = 0;
      for (uint32_t controller = 0; controller < kControllers; ++controller) {
        const uint64_t part = (count + controller) / kControllers;
        const auto fits = static_cast<uint32_t>(std::min<uint64_t>(part, UINT32_MAX));
        written += fits;
        sample.Append(format::DdrRecord{
            .time_us = stamp, .count = fits, .event = event, .controller = controller, .master = master_});
      }
      sample.Value(event == 0 ? "read_mb_s" : "write_mb_s",
                   static_cast<double>(written * unit) / kMebibyte / tick.seconds);
    }
    return stamp;
  }

 private:
  std::vector<uint32_t> events_;
  uint32_t master_;
};

// Slots of one cache: 0, 1 throughput in 4 KiB; 4, 6 lookups; 2, 3, 5, 7 hits.
class LlcProducer : public PeriodicProducer {
 public:
  LlcProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, request.period_ms * kMs), write_(request.Word(1) == kWriteMode) {}

 protected:
  static constexpr uint32_t kWriteMode = 2;
  static constexpr uint64_t kLineBytes = 64;

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const Flow bytes = write_ ? Flow::kLlcWrite : Flow::kLlcRead;
    const Flow hits = write_ ? Flow::kLlcWriteHits : Flow::kLlcReadHits;
    const auto& events = write_ ? format::kLlcWriteEvents : format::kLlcReadEvents;
    const uint64_t from[] = {env_.load->Total(bytes, tick.from_ns) / kLineBytes,
                             env_.load->Total(hits, tick.from_ns)};
    const uint64_t to[] = {env_.load->Total(bytes, tick.to_ns) / kLineBytes,
                           env_.load->Total(hits, tick.to_ns)};
    struct Slot {
      size_t total;
      uint32_t percent;
    };
    static constexpr Slot kSlots[8] = {{0, 60}, {0, 40}, {1, 50}, {1, 20},
                                       {0, 60}, {1, 20}, {0, 40}, {1, 10}};
    std::vector<double> mb_s;
    std::vector<double> hit_rate;
    const uint32_t ids = env_.chip->llc_ids;
    for (uint32_t id = 0; id < ids; ++id) {
      uint64_t count[8];
      for (uint32_t slot = 0; slot < 8; ++slot) {
        const auto [total, percent] = kSlots[slot];
        count[slot] = Share(to[total], percent, 100 * ids) - Share(from[total], percent, 100 * ids);
        sample.Append(format::LlcRecord{
            .time_us = tick.since_start_us, .count = count[slot], .event = events[slot], .llc_id = id});
      }
      if (!sample.wants_values()) continue;
      mb_s.push_back(static_cast<double>((count[0] + count[1]) * kLineBytes) / kMebibyte / tick.seconds);
      const auto lookups = static_cast<double>(count[4] + count[6]);
      hit_rate.push_back(
          lookups > 0 ? static_cast<double>(count[2] + count[3] + count[5] + count[7]) / lookups : 0);
    }
    sample.Value("mode", write_ ? std::string_view("write") : std::string_view("read"));
    sample.Values("throughput_mb_s", mb_s);
    sample.Values("hit_rate", hit_rate);
    return tick.since_start_us;
  }

 private:
  bool write_;
};

class NpuMemoryProducer : public PeriodicProducer {
 public:
  NpuMemoryProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, request.period_ms * kMs), event_(request.Word(2)) {}

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const TrainingLoad& load = *env_.load;
    const uint64_t used = event_ == 0 ? load.AppMemoryBytes(tick.to_ns) : load.MemoryBytes(tick.to_ns);
    const uint64_t side = load.HostSideDdrBytes(tick.to_ns) * (event_ == 0 ? 1 : 2);
    const format::NpuMemRecord record{.time_us = static_cast<uint32_t>(tick.since_start_us),
                                      .event = event_,
                                      .reserved = 0,
                                      .ddr_bytes = side,
                                      .hbm_bytes = used};
    sample.Append(record);
    sample.Value("ddr_bytes", side);
    sample.Value("hbm_bytes", used);
    return record.time_us;
  }

 private:
  uint32_t event_;  // 0 the application, 1 the device
};

class ModuleMemoryProducer : public PeriodicProducer {
 public:
  ModuleMemoryProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, request.period_ms * kMs), in_cycles_(request.Word(1) == 1) {}

 protected:
  struct Module {
    uint32_t id;
    uint32_t permille;  // of the memory in use
  };
  static constexpr Module kModules[] = {{0, 20}, {3, 60}, {7, 700}, {45, 120}};

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const uint64_t time = in_cycles_ ? env_.host_counter->ValueAt(tick.to_ns) : tick.to_ns;
    std::vector<uint64_t> ids;
    std::vector<uint64_t> bytes;
    for (const auto [id, permille] : kModules) {
      const uint64_t used = env_.load->MemoryBytes(tick.to_ns) / 1000 * permille;
      sample.Append(format::NpuModuleMemRecord{.module = id, .memory_type = 0, .time = time, .bytes = used});
      if (!sample.wants_values()) continue;
      ids.push_back(id);
      bytes.push_back(used);
    }
    sample.Values("module", ids);
    sample.Values("bytes", bytes);
    return time;
  }

 private:
  bool in_cycles_;
};

// The call always says 100 ms; what was asked for is in the payload.
class QosProducer : public PeriodicProducer {
 public:
  QosProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, std::max(1U, request.Word(0)) * kMs),
        percent_(QosPercentOf(request, 4)) {}

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const uint64_t bytes = Flowed(Flow::kHbmRead, tick) + Flowed(Flow::kHbmWrite, tick);
    format::QosRecord record{};
    record.ticks = tick.ticks;
    std::vector<uint64_t> mb_s(percent_.size());
    for (size_t i = 0; i < percent_.size(); ++i) {
      mb_s[i] = static_cast<uint64_t>(static_cast<double>(Share(bytes, percent_[i], 100)) / kMebibyte /
                                      tick.seconds);
      record.bandwidth_mb_s[i] = static_cast<uint32_t>(mb_s[i]);
    }
    sample.Append(record);
    sample.Values("mb_s", std::span(mb_s));
    return tick.ticks;
  }

 private:
  std::vector<uint32_t> percent_;
};

}  // namespace

std::unique_ptr<Producer> MakeMemoryProducer(const Environment& env, const StartRequest& request) {
  switch (request.channel) {
    case channel::kHbm:
      return std::make_unique<HbmProducer>(env, request);
    case channel::kDdr:
      return std::make_unique<DdrProducer>(env, request);
    case channel::kLlc:
      return std::make_unique<LlcProducer>(env, request);
    case channel::kNpuAppMem:
    case channel::kNpuMem:
      return std::make_unique<NpuMemoryProducer>(env, request);
    case channel::kModuleMem:
      return std::make_unique<ModuleMemoryProducer>(env, request);
    case channel::kQos:
      return std::make_unique<QosProducer>(env, request);
    default:
      return nullptr;
  }
}

}  // namespace profd::sim
