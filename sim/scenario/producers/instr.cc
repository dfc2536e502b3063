// Instruction profiling of one core: thinned, its content is a function of its position.
#include <algorithm>
#include <array>
#include <cstring>

#include "format/records/tasks.h"
#include "sim/scenario/producers/channel_ids.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {
namespace {

constexpr uint64_t kTickNs = 10'000'000;

// Before the 950: what the unit counted every so many clocks, a few records a tick.
class InstrCountProducer : public PeriodicProducer {
 public:
  InstrCountProducer(const Environment& env, const StartRequest& request, bool cube)
      : PeriodicProducer(env, request, kTickNs),
        cube_(cube),
        channel_(request.channel),
        cycles_(std::max(request.Word(0), 1U)) {}

 protected:
  static constexpr uint64_t kRecords = 4;
  static constexpr uint32_t kCounterBits = 12, kCounterMask = (1U << kCounterBits) - 1;

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    for (uint64_t i = 0; i < kRecords; ++i) Append((tick.number - 1) * kRecords + i, tick.ticks, sample);
    sample.Value("cycles", uint64_t{cycles_});
    return tick.ticks;
  }

 private:
  // Two counters of 12 bits in three bytes.
  static void Put(format::InstrCycles& cycles, size_t place, uint64_t value) {
    uint8_t* const bytes = cycles.busy + place / 2 * 3;
    const auto bits = static_cast<uint32_t>(value & kCounterMask);
    uint32_t whole = bytes[0] | uint32_t{bytes[1]} << 8 | uint32_t{bytes[2]} << 16;
    whole |= bits << (place % 2 * kCounterBits);
    for (size_t i = 0; i < 3; ++i) bytes[i] = static_cast<uint8_t>(whole >> (8 * i));
  }

  void Append(uint64_t number, uint64_t ticks, Sample& sample) {
    format::InstrCycles cycles{};
    for (size_t pipe = 0; pipe < running_.size(); ++pipe) {
      running_[pipe] += cycles_ * (Mix(number, channel_ * 8 + pipe) % 600) / 1000;
      Put(cycles, pipe, running_[pipe]);
    }
    constexpr size_t kStampPlaces[] = {7, 8, 14, 15};
    for (size_t i = 0; i < std::size(kStampPlaces); ++i)
      Put(cycles, kStampPlaces[i], ticks >> (kCounterBits * i));
    cycles.stamp_48 = static_cast<uint16_t>(ticks >> (4 * kCounterBits));
    if (!cube_) return sample.Append(format::InstrVectorRecord{.reserved = {}, .cycles = cycles});
    format::InstrFlow flow{};
    flow.read_commands = static_cast<uint16_t>(Mix(number, channel_) % 1000);
    flow.write_commands = static_cast<uint16_t>(Mix(number, channel_) % 700);
    flow.stamp = ticks;
    format::InstrCubeRecord record{};
    for (size_t i = 0; i < std::size(record.turn); ++i) {
      std::memcpy(&record.turn[i].flow, reinterpret_cast<const char*>(&flow) + 8 * i, 8);
      std::memcpy(&record.turn[i].cycles, reinterpret_cast<const char*>(&cycles) + 8 * i, 8);
    }
    sample.Append(record);
  }

  const bool cube_;
  const uint32_t channel_, cycles_;
  std::array<uint64_t, 6> running_{};  // vector, scalar, cube, mte1, mte2, mte3
};

// Of a 950: a stamp, then which pipes are busy, from one change to the next.
class InstrEventProducer : public PeriodicProducer {
 public:
  InstrEventProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, kTickNs), channel_(request.channel) {}

 protected:
  static constexpr uint64_t kChanges = 60;
  static constexpr size_t kStampParts = 4;

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    for (size_t i = 0; i < kStampParts; ++i) Append(tick.ticks >> (16 * i), format::kBiuStamp, 0, sample);
    for (uint64_t i = 0; i < kChanges; ++i) {
      const uint64_t chance = Mix(tick.number * kChanges + i, channel_);
      // At last none is busy.
      Append(1 + chance % 1000, format::kBiuState, i + 1 == kChanges ? 0 : chance >> 16 & 0x7F, sample);
    }
    sample.Value("changes", kChanges);
    return tick.ticks;
  }

 private:
  static void Append(uint64_t data, uint16_t what, uint64_t events, Sample& sample) {
    sample.Append(format::BiuRecord{.data = static_cast<uint16_t>(data),
                                    .control = static_cast<uint16_t>(what << 12 | events)});
  }

  const uint32_t channel_;
};

}  // namespace

std::unique_ptr<Producer> MakeInstrProducer(const Environment& env, const StartRequest& request) {
  if (!channel::IsBiu(request.channel)) return nullptr;
  if (env.chip->is_950()) return std::make_unique<InstrEventProducer>(env, request);
  return std::make_unique<InstrCountProducer>(env, request, channel::BiuIndex(request.channel) % 3 == 0);
}

}  // namespace profd::sim
