// lpmFreqConv.data, lpmInfoConv.data: changes of the core's frequency and of voltages.
#include <algorithm>
#include <iterator>

#include "format/decode/device/core_freq.h"
#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/series.h"

namespace profd::format {

namespace {

// type: 1 core, 2 bus.
const Series kVoltageSeries = {"voltage", Kind::kLowPower, {"type"}, {{"millivolts", Unit::kNone}}};

constexpr double kHzPerMhz = 1e6;
constexpr uint32_t kTypes = 3;  // 0 frequency, 1 voltage of the cores, 2 of the bus

// What a change before the begin of the collection set holds at its begin. **Thread:** one.
class LowPower : public Decoder {
 public:
  // `typed`: a record says what it is of; else all are of the frequency.
  LowPower(const DecodeContext& context, bool typed)
      : Decoder(context),
        typed_(typed),
        freq_rows_(kCoreFreqSeries, context),
        volt_rows_(kVoltageSeries, context) {
    values_[0] = context.side->aic_mhz;
  }

  void Take(std::span<const std::byte> whole) override {
    EachRecord<LowPowerRecord>(whole, [this](const LowPowerRecord& record) {
      ++records_;
      const uint32_t type = typed_ ? record.type : 0;
      if (type >= kTypes) return Reject("of an unknown type");
      const size_t count = std::min<size_t>(record.count, std::size(record.sample));
      for (size_t i = 0; i < count; ++i) Change(type, record.sample[i]);
    });
  }
  void Finish() override {
    for (uint32_t type = 0; type < kTypes; ++type) Begin(type);
    freq_rows_.Flush();
    volt_rows_.Flush();
  }

 private:
  void Change(uint32_t type, const LowPowerSample& sample) {
    const uint64_t start = context().side->at_start.device_counter;
    if (sample.ticks >= start) Begin(type);
    values_[type] = sample.value;
    known_[type] = true;
    if (sample.ticks >= start) Add(type, context().DeviceTicksToWall(sample.ticks));
  }
  // The value at the collection's begin, where one is known.
  void Begin(uint32_t type) {
    if (begun_[type]) return;
    begun_[type] = true;
    const bool known = known_[type] || (type == 0 && values_[0] > 0);
    if (known) Add(type, context().DeviceTicksToWall(context().side->at_start.device_counter));
  }
  void Add(uint32_t type, uint64_t wall_ns) {
    if (type == 0) {
      freq_rows_.Add(wall_ns, {-1}, {values_[type] * kHzPerMhz});
    } else {
      volt_rows_.Add(wall_ns, {type}, {values_[type]});
    }
  }

  const bool typed_;
  Rows freq_rows_, volt_rows_;
  double values_[kTypes] = {};
  bool known_[kTypes] = {}, begun_[kTypes] = {};
};

std::unique_ptr<Decoder> MakeLowPower(const DecodeContext& context, std::string_view file, int64_t) {
  return std::make_unique<LowPower>(context, file == file::kPower);
}

bool IsLowPower(const std::byte* bytes) {
  constexpr uint32_t kMostTypes = 3;
  constexpr uint32_t kMostValue = 1u << 17;  // MHz or mV
  constexpr size_t kFirst = offsetof(LowPowerRecord, sample);
  const auto count = Load<uint32_t>(bytes);
  const auto type = Load<uint32_t>(bytes + offsetof(LowPowerRecord, type));
  if (count == 0) {
    // Nothing changed in the period. A window into the unused end of another record begins like that too, but
    // reaches into that record's successor.
    return type < kMostTypes && std::all_of(bytes + kFirst, bytes + sizeof(LowPowerRecord),
                                            [](std::byte byte) { return byte == std::byte{0}; });
  }
  const auto first = Load<LowPowerSample>(bytes + kFirst);
  return check::All(count <= std::size(LowPowerRecord{}.sample), type < kMostTypes,
                    check::IsTicks(first.ticks), first.value < kMostValue);
}

constexpr FramingRow kFramings[] = {
    // Changes, not samples: each of the up to 55 entries carries its own stamp; the first one stands for the
    // record.
    row::Fixed<LowPowerRecord, IsLowPower>(chips::kAll, file::kFrequencies, StampDomain::kDeviceTicks,
                                           offsetof(LowPowerRecord, sample), Combine::kNone, 0),
    row::Fixed<LowPowerRecord, IsLowPower>(chips::kAll, file::kPower, StampDomain::kDeviceTicks,
                                           offsetof(LowPowerRecord, sample), Combine::kNone, 0),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kFrequencies,
     .kind = Kind::kLowPower,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = Only({Chip::k910B, Chip::k310B}) | chips::k950,
     .only_without = file::kPower,
     .make = MakeLowPower},
    {.file = file::kPower,
     .kind = Kind::kLowPower,
     .stamp = StampDomain::kDeviceTicks,
     .vendor_chips = chips::k910B,
     .make = MakeLowPower},
};

constexpr const Series* kSeries[] = {&kCoreFreqSeries, &kVoltageSeries};

}  // namespace

namespace family {
Family LowPower() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
