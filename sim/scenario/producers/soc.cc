// On-chip sampling (channel 52) and frequency changes (channel 132).
#include <algorithm>
#include <array>
#include <iterator>
#include <vector>

#include "format/records/tasks.h"
#include "sim/scenario/producers/channel_ids.h"
#include "sim/scenario/producers/producer.h"

namespace profd::sim {
namespace {

using format::StarsType;

constexpr uint64_t kMs = 1'000'000, kUs = 1'000;

// One typed kind of record inside channel 52, with a period of its own.
class StarsProducer : public PeriodicProducer {
 public:
  using PeriodicProducer::PeriodicProducer;

 protected:
  // `top` are bits 10–15: the kind of link, or the die.
  format::StarsHeader Header(StarsType type, uint32_t top, const Tick& tick) {
    const auto bits = static_cast<uint16_t>(static_cast<uint32_t>(type) | (count_++ & 0xF) << 6 | top << 10);
    return {.header = bits, .magic = format::kStarsMagic, .reserved = 0, .ticks = tick.ticks};
  }
  uint64_t MbPerSecond(uint64_t bytes, const Tick& tick) const {
    return static_cast<uint64_t>(static_cast<double>(bytes) / kMebibyte / tick.seconds);
  }

 private:
  uint32_t count_ = 0;
};

// One record per HBM id: the memory accelerators see what the HBM channel counts.
class AccPmuProducer : public StarsProducer {
 public:
  using StarsProducer::StarsProducer;

 protected:
  static constexpr uint16_t kUnits = 4;
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const uint64_t read = MbPerSecond(Flowed(Flow::kHbmRead, tick), tick) / kUnits;
    const uint64_t write = MbPerSecond(Flowed(Flow::kHbmWrite, tick), tick) / kUnits;
    for (uint16_t unit = 0; unit < kUnits; ++unit) {
      format::StarsAccPmuRecord record{};
      record.head = Header(StarsType::kAccPmu, 0, tick);
      record.unit = unit;
      record.write_bandwidth = write;
      record.read_bandwidth = read;
      record.write_outstanding = write / 64;
      record.read_outstanding = read / 64;
      sample.Append(record);
    }
    sample.Value("type", std::string_view("acc_pmu"));
    sample.Value("unit_read_mb_s", read);
    sample.Value("unit_write_mb_s", write);
    return tick.ticks;
  }
};

class SocInfoProducer : public StarsProducer {
 public:
  using StarsProducer::StarsProducer;

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const auto busy_permille =
        static_cast<uint64_t>(static_cast<double>(Flowed(Flow::kAicBusy, tick)) / (tick.seconds * 1e6));
    const uint64_t l2_level = std::min<uint64_t>(busy_permille / 125, 7);
    const uint64_t mata_level = std::min<uint64_t>(busy_permille / 4, 255);
    format::StarsSocInfoRecord record{};
    record.head = Header(StarsType::kSocInfo, 0, tick);
    record.levels = static_cast<uint16_t>(l2_level | mata_level << 3);
    sample.Append(record);
    sample.Value("type", std::string_view("soc_info"));
    sample.Value("l2_level", l2_level);
    sample.Value("mata_level", mata_level);
    return tick.ticks;
  }
};

class StarsQosProducer : public StarsProducer {
 public:
  StarsQosProducer(const Environment& env, const StartRequest& request, uint64_t period_ns,
                   std::vector<uint32_t> percent)
      : StarsProducer(env, request, period_ns), percent_(std::move(percent)) {}

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const uint64_t bytes = Flowed(Flow::kHbmRead, tick) + Flowed(Flow::kHbmWrite, tick);
    format::StarsQosRecord record{};
    record.head = Header(StarsType::kQos, 0, tick);
    std::vector<uint64_t> mb_s(std::min(percent_.size(), std::size(record.bandwidth_mb_s)));
    for (size_t i = 0; i < mb_s.size(); ++i) {
      mb_s[i] = MbPerSecond(Share(bytes, percent_[i], 100), tick);
      record.bandwidth_mb_s[i] = static_cast<uint32_t>(mb_s[i]);
    }
    sample.Append(record);
    sample.Value("type", std::string_view("qos"));
    sample.Values("mb_s", std::span(mb_s));
    return tick.ticks;
  }

 private:
  std::vector<uint32_t> percent_;
};

// Traffic between the dies: what one sends the other receives.
class SioProducer : public StarsProducer {
 public:
  using StarsProducer::StarsProducer;

 protected:
  static constexpr uint32_t kPercent[4] = {6, 4, 2, 88};  // requests, responses, snoops, data

  static std::array<uint32_t, 4> Split(uint64_t bytes) {
    std::array<uint32_t, 4> parts;
    for (size_t i = 0; i < parts.size(); ++i) {
      parts[i] = static_cast<uint32_t>(std::min<uint64_t>(Share(bytes, kPercent[i], 100), UINT32_MAX));
    }
    return parts;
  }

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const auto sent = Split(Flowed(Flow::kSioTx, tick));
    const auto received = Split(Flowed(Flow::kSioRx, tick));
    // Of a 950 the compute die and the two of its links.
    const std::vector<uint32_t> dies =
        env_.chip->is_950() ? std::vector<uint32_t>{0, 2, 3} : std::vector<uint32_t>{0, 1};
    for (const uint32_t die : dies) {
      const auto& rx = die == 0 ? received : sent;
      const auto& tx = die == 0 ? sent : received;
      if (env_.chip->is_950()) {
        format::StarsSioRecord950 record{};
        record.head = Header(StarsType::kSio, die, tick);
        std::copy(rx.begin(), rx.end(), record.value + 1);
        std::copy(tx.begin(), tx.end(), record.value + 6);
        sample.Append(record);
      } else {
        format::StarsSioRecord record{};
        record.head = Header(StarsType::kSio, 0, tick);
        record.die = static_cast<uint16_t>(die);
        record.rx_req = rx[0], record.rx_rsp = rx[1], record.rx_snp = rx[2], record.rx_dat = rx[3];
        record.tx_req = tx[0], record.tx_rsp = tx[1], record.tx_snp = tx[2], record.tx_dat = tx[3];
        sample.Append(record);
      }
    }
    sample.Value("type", std::string_view("sio"));
    sample.Values("die0_rx_bytes",
                  std::array<uint64_t, 4>{received[0], received[1], received[2], received[3]});
    sample.Values("die0_tx_bytes", std::array<uint64_t, 4>{sent[0], sent[1], sent[2], sent[3]});
    return tick.ticks;
  }
};

// The chip's links: the bytes of channels 9 and 3 in this period.
class ChipTransProducer : public StarsProducer {
 public:
  using StarsProducer::StarsProducer;

 protected:
  static constexpr uint32_t kChipLink = 0b111111, kPcieLink = 0b100010;

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const uint64_t link_rx = Flowed(Flow::kHccsRx, tick), link_tx = Flowed(Flow::kHccsTx, tick);
    const uint64_t pcie_write = Flowed(Flow::kPcieRx, tick), pcie_read = Flowed(Flow::kPcieTx, tick);
    if (env_.chip->is_950()) {
      format::StarsChipTransRecord950 record{};
      record.head = Header(StarsType::kChipTrans, 0, tick);
      record.write = pcie_write;
      record.read = pcie_read;
      sample.Append(record);
    } else {
      Append(kChipLink, link_rx, link_tx, tick, sample);
      Append(kPcieLink, pcie_write, pcie_read, tick, sample);
    }
    sample.Value("type", std::string_view("chip_trans"));
    sample.Value("link_rx_bytes", link_rx);
    sample.Value("link_tx_bytes", link_tx);
    sample.Value("pcie_write_bytes", pcie_write);
    sample.Value("pcie_read_bytes", pcie_read);
    return tick.ticks;
  }

 private:
  void Append(uint32_t kind, uint64_t in, uint64_t out, const Tick& tick, Sample& sample) {
    format::StarsChipTransRecord record{};
    record.head = Header(StarsType::kChipTrans, kind, tick);
    record.rx_or_write = in;
    record.tx_or_read = out;
    sample.Append(record);
  }
};

class StarsLowPowerProducer : public StarsProducer {
 public:
  using StarsProducer::StarsProducer;

 protected:
  uint64_t Encode(const Tick& tick, Sample& sample) override {
    constexpr uint32_t kComputeDie = 0, kFirstIoDie = 2, kLastIoDie = 3;
    constexpr uint16_t kCelsius = 45;
    const uint32_t mhz = env_.load->AicMhz(tick.to_ns);
    format::StarsLowPowerRecord record{};
    const auto value = [&record](size_t number) -> uint16_t& { return record.info[number ^ 1]; };
    record.head = Header(StarsType::kLowPower, kComputeDie, tick);
    value(3) = value(4) = value(5) = kCelsius;
    value(format::kLowPowerAicMhz) = static_cast<uint16_t>(mhz);
    sample.Append(record);
    for (uint32_t die = kFirstIoDie; die <= kLastIoDie; ++die) {
      record = {};
      record.head = Header(StarsType::kLowPower, die, tick);
      value(0) = kCelsius;
      sample.Append(record);
    }
    sample.Value("type", std::string_view("low_power"));
    sample.Value("aic_mhz", uint64_t{mhz});
    return tick.ticks;
  }
};

// Several grids on one channel.
class MergedProducer : public Producer {
 public:
  explicit MergedProducer(std::vector<std::unique_ptr<Producer>> parts) : parts_(std::move(parts)) {}

  uint64_t due_ns() const override {
    uint64_t due = kNever;
    for (const auto& part : parts_) due = std::min(due, part->due_ns());
    return due;
  }
  void Emit(Sample& sample) override {
    const auto first = std::min_element(
        parts_.begin(), parts_.end(), [](const auto& a, const auto& b) { return a->due_ns() < b->due_ns(); });
    (*first)->Emit(sample);
  }

 private:
  std::vector<std::unique_ptr<Producer>> parts_;
};

// Payload: seven {switch, period} pairs; on the 950 also the QoS streams.
std::unique_ptr<Producer> MakeStarsProfile(const Environment& env, const StartRequest& request) {
  enum Pair : size_t { kAccPmu, kOnChip, kInterDie, kInterChip, kPower };
  constexpr uint32_t kOn = 1;
  // Milliseconds; microseconds on the 950, except for the fixed 20 ms of the ACC PMU.
  const auto period_ns = [&](size_t pair) -> uint64_t {
    const uint64_t period = std::max(request.Word(2 * pair + 1), 1U);
    return env.chip->is_950() && period >= 1000 ? period * kUs : period * kMs;
  };
  const auto on = [&](size_t pair) { return request.Word(2 * pair) == kOn; };

  std::vector<std::unique_ptr<Producer>> parts;
  const auto add = [&]<typename Part>(std::type_identity<Part>, size_t pair) {
    parts.push_back(std::make_unique<Part>(env, request, period_ns(pair)));
  };
  if (on(kAccPmu)) add(std::type_identity<AccPmuProducer>{}, kAccPmu);
  if (on(kOnChip)) {
    constexpr size_t kStreamCountOffset = 60;
    std::vector<uint32_t> percent = QosPercentOf(request, kStreamCountOffset);
    if (env.chip->is_950() && !percent.empty()) {
      parts.push_back(
          std::make_unique<StarsQosProducer>(env, request, period_ns(kOnChip), std::move(percent)));
    } else {
      add(std::type_identity<SocInfoProducer>{}, kOnChip);
    }
  }
  if (on(kInterDie)) add(std::type_identity<SioProducer>{}, kInterDie);
  if (on(kInterChip)) add(std::type_identity<ChipTransProducer>{}, kInterChip);
  if (on(kPower) && env.chip->is_950()) add(std::type_identity<StarsLowPowerProducer>{}, kPower);
  return std::make_unique<MergedProducer>(std::move(parts));
}

// The changes of a period, the first time with the value at the start before them. The 910B adds its
// voltages.
class LowPowerProducer : public PeriodicProducer {
 public:
  LowPowerProducer(const Environment& env, const StartRequest& request)
      : PeriodicProducer(env, request, request.period_ms * kMs) {}

 protected:
  static constexpr uint32_t kFrequency = 0, kCoreVoltage = 1, kBusVoltage = 2;

  struct Change {
    uint64_t ticks;
    uint32_t mhz;
  };
  std::vector<Change> Changes(const Tick& tick) const {
    const TrainingLoad& load = *env_.load;
    std::vector<Change> changes;
    uint32_t mhz = load.AicMhz(tick.from_ns);
    if (tick.number == 1) changes.push_back({env_.clock->TicksAtHost(tick.from_ns), mhz});
    for (uint64_t at = load.NextFrequencyChange(tick.from_ns); at <= tick.to_ns;
         at = load.NextFrequencyChange(at)) {
      if (load.AicMhz(at) == mhz) continue;
      mhz = load.AicMhz(at);
      if (changes.size() < std::size(format::LowPowerRecord{}.sample)) {
        changes.push_back({env_.clock->TicksAtHost(at), mhz});
      }
    }
    return changes;
  }

  static uint32_t Value(uint32_t type, uint32_t mhz) {
    switch (type) {
      case kCoreVoltage:
        return 650 + mhz / 10;
      case kBusVoltage:
        return 800;
      default:
        return mhz;
    }
  }

  uint64_t Encode(const Tick& tick, Sample& sample) override {
    const std::vector<Change> changes = Changes(tick);
    if (changes.empty()) return tick.ticks;
    const uint32_t types = env_.chip->id == format::Chip::k910B ? 3 : 1;
    for (uint32_t type = kFrequency; type < types; ++type) {
      format::LowPowerRecord record{};
      record.count = static_cast<uint32_t>(changes.size());
      record.type = type;
      for (size_t i = 0; i < changes.size(); ++i) {
        record.sample[i] = {.ticks = changes[i].ticks, .value = Value(type, changes[i].mhz), .reserved = 0};
      }
      sample.Append(record);
    }
    if (sample.wants_values()) {
      std::vector<uint64_t> ticks;
      std::vector<uint64_t> mhz;
      for (const Change& change : changes) ticks.push_back(change.ticks), mhz.push_back(change.mhz);
      sample.Values("ticks", ticks);
      sample.Values("mhz", mhz);
      if (types > kBusVoltage) {
        std::vector<uint64_t> core_mv, bus_mv;
        for (const Change& change : changes) {
          core_mv.push_back(Value(kCoreVoltage, change.mhz));
          bus_mv.push_back(Value(kBusVoltage, change.mhz));
        }
        sample.Values("core_mv", core_mv);
        sample.Values("bus_mv", bus_mv);
      }
    }
    return changes.front().ticks;
  }
};

}  // namespace

std::unique_ptr<Producer> MakeSocProducer(const Environment& env, const StartRequest& request) {
  switch (request.channel) {
    case channel::kStarsProfile:
      return MakeStarsProfile(env, request);
    case channel::kLowPower:
      return std::make_unique<LowPowerProducer>(env, request);
    default:
      return nullptr;
  }
}

}  // namespace profd::sim
