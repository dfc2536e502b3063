// aicore.data, aiVectorCore.data, ffts_profile.data, sample based: cycles and events of the cores per period.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "format/decode/device_decoders.h"
#include "format/decode/device_series.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"

namespace profd::format {

namespace {

constexpr double kHzPerMhz = 1e6;
constexpr size_t kMostEvents = 10;
constexpr size_t kMostCores = 256;
constexpr int64_t kAllCores = -1;

// **Thread:** one.
class Cores : public Decoder {
 public:
  Cores(const DecodeContext& context, bool vector_file)
      : Decoder(context),
        ten_events_(TraitsOf(context.side->chip).core_events == 10),
        vector_file_(vector_file),
        last_ai_core_(TraitsOf(context.side->chip).last_ai_core),
        rows_(kCoreSeries, context) {}

  void Lost() override {
    for (Elapsed& elapsed : before_) elapsed.Forget();
    for (Average& average : averages_) average = {};
  }
  void Take(std::span<const std::byte> whole) override {
    if (ten_events_) {
      EachRecord<CoreSampleRecord950>(whole, [this](const CoreSampleRecord950& record) {
        Add(record, context().DeviceTicksToWall(record.ticks));
      });
    } else {
      EachRecord<CoreSampleRecord>(whole, [this](const CoreSampleRecord& record) {
        Add(record, context().DeviceNsToWall(record.time_ns));
      });
    }
  }
  void Finish() override {
    EndMoment();
    rows_.Flush();
  }

 private:
  template <typename Record>
  void Add(const Record& record, uint64_t wall_ns) {
    if (ended_) return;
    ++records_;
    if (record.mode == 0) {  // which ends the file for the vendor's parser
      ended_ = context().vendor_compatible;
      return Reject("of no mode");
    }
    const SideFacts& side = *context().side;
    const bool vector = vector_file_ || record.core > last_ai_core_;
    const double hz = (vector ? side.aiv_mhz : side.aic_mhz) * kHzPerMhz;
    const auto ns = before_[record.core].Next(wall_ns);
    if (ns && *ns == 0) return Reject("stamp not behind that of the record in front");
    const double cycles = static_cast<double>(record.cycles);
    std::array<double, 3 + kMostEvents> values;
    std::fill(values.begin(), values.end(), kNoValue);
    values[0] = cycles;
    values[1] = hz > 0 ? PerSecond(cycles, ns) / hz : kNoValue;
    values[2] = hz > 0 ? hz : kNoValue;
    const size_t events = std::min<size_t>(record.counters, std::size(record.event));
    for (size_t i = 0; i < events; ++i) values[3 + i] = static_cast<double>(record.event[i]);
    if (wall_ns != moment_ns_) EndMoment();
    moment_ns_ = wall_ns;
    rows_.Add(wall_ns, {record.core, vector}, values);
    averages_[vector].sum += values[1];  // no value makes no average
    ++averages_[vector].cores;
  }

  // The cores' average, where they were sampled at one moment.
  void EndMoment() {
    std::array<double, 3 + kMostEvents> values;
    std::fill(values.begin(), values.end(), kNoValue);
    for (const bool vector : {false, true}) {
      const Average average = std::exchange(averages_[vector], {});
      if (average.cores == 0 || std::isnan(average.sum)) continue;
      values[1] = average.sum / average.cores;
      rows_.Add(moment_ns_, {kAllCores, vector}, values);
    }
  }

  struct Average {
    double sum = 0;
    int cores = 0;
  };

  const bool ten_events_, vector_file_;
  const uint8_t last_ai_core_;
  Rows rows_;
  std::array<Elapsed, kMostCores> before_;
  uint64_t moment_ns_ = 0;
  Average averages_[2];
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Decoder> MakeCores(const DecodeContext& context, std::string_view file, int64_t) {
  return std::make_unique<Cores>(context, file == file::kVectorCore);
}

}  // namespace profd::format
