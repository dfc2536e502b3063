// lpmFreqConv.data, lpmInfoConv.data: changes of the core's frequency and of voltages.
#include <algorithm>
#include <iterator>

#include "format/decode/device_decoders.h"
#include "format/decode/device_series.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"

namespace profd::format {

namespace {

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

}  // namespace

std::unique_ptr<Decoder> MakeLowPower(const DecodeContext& context, std::string_view file, int64_t) {
  return std::make_unique<LowPower>(context, file == file::kPower);
}

}  // namespace profd::format
