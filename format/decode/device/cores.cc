// aicore.data, aiVectorCore.data, ffts_profile.data, sample based: cycles and events of the cores per period.
#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/records/tasks.h"
#include "format/series.h"

namespace profd::format {

namespace {

// core -1: the average of those sampled at one moment, the usage only. vector: 1 a vector core. usage: cycles
// of what the core could have run in the period. event0…: counts of the period, of the events in the order in
// which sample.json names them.
const Series kCoreSeries = {"core_sample",
                            Kind::kAiCore,
                            {"core", "vector"},
                            {{"cycles", Unit::kCount},
                             {"usage", Unit::kRatio},
                             {"freq", Unit::kHz},
                             {"event0", Unit::kCount},
                             {"event1", Unit::kCount},
                             {"event2", Unit::kCount},
                             {"event3", Unit::kCount},
                             {"event4", Unit::kCount},
                             {"event5", Unit::kCount},
                             {"event6", Unit::kCount},
                             {"event7", Unit::kCount},
                             {"event8", Unit::kCount},
                             {"event9", Unit::kCount}}};

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

std::unique_ptr<Decoder> MakeCores(const DecodeContext& context, std::string_view file, int64_t) {
  return std::make_unique<Cores>(context, file == file::kVectorCore);
}

template <typename Record, size_t kTimeOffset, uint64_t kLeastTime>
bool IsCoreSample(const std::byte* bytes) {
  constexpr uint8_t kMostCounters = std::size(Record{}.event);
  constexpr uint8_t kMostCores = 128;
  const auto counters = Load<uint8_t>(bytes + offsetof(Record, counters));
  const auto core = Load<uint8_t>(bytes + offsetof(Record, core));
  return check::All(Load<uint8_t>(bytes) != 0, check::IsTime(Load<uint64_t>(bytes + kTimeOffset), kLeastTime),
                    counters != 0, counters <= kMostCounters, core < kMostCores,
                    Load<uint64_t>(bytes + offsetof(Record, cycles)) < check::kMostCount);
}
constexpr auto kIsCoreSample =
    IsCoreSample<CoreSampleRecord, offsetof(CoreSampleRecord, time_ns), check::kLeastNs>;
constexpr auto kIsCoreSample950 =
    IsCoreSample<CoreSampleRecord950, offsetof(CoreSampleRecord950, ticks), check::kLeastTicks>;

bool IsAicoreTask(const std::byte* bytes) {
  return check::All(
      Load<uint64_t>(bytes + offsetof(AicoreTaskRecord, cycles)) < check::kMostCount,
      Load<uint32_t>(bytes + offsetof(AicoreTaskRecord, stream)) <= UINT16_MAX,
      check::AreCounts(bytes + offsetof(AicoreTaskRecord, event), std::size(AicoreTaskRecord{}.event)));
}

constexpr FramingRow kFramings[] = {
    row::With(
        row::Fixed<CoreSampleRecord, kIsCoreSample>(chips::kAll, file::kAiCore, StampDomain::kDeviceNs,
                                                    offsetof(CoreSampleRecord, time_ns), Combine::kSum, 0),
        {offsetof(CoreSampleRecord, core), 1, 8, 8, 9}),
    row::With(
        row::Fixed<CoreSampleRecord, kIsCoreSample>(chips::kAll, file::kVectorCore, StampDomain::kDeviceNs,
                                                    offsetof(CoreSampleRecord, time_ns), Combine::kSum, 0),
        {offsetof(CoreSampleRecord, core), 1, 8, 8, 9}),
    row::With(row::Fixed<CoreSampleRecord950, kIsCoreSample950>(
                  chips::kTenEvents, file::kBothCores, StampDomain::kDeviceTicks,
                  offsetof(CoreSampleRecord950, ticks), Combine::kSum, 0),
              {offsetof(CoreSampleRecord950, core), 1, 8, 8, 11}),
    row::With(row::Fixed<CoreSampleRecord, kIsCoreSample>(
                  chips::kAll & ~chips::kTenEvents, file::kBothCores, StampDomain::kDeviceNs,
                  offsetof(CoreSampleRecord, time_ns), Combine::kSum, 0),
              {offsetof(CoreSampleRecord, core), 1, 8, 8, 9}),
};

constexpr FramingRow kByTask[] = {
    row::Sized<row::IsStars>(chips::kAll, file::kBothCores, sizeof(FftsTaskRecord), StampDomain::kDeviceTicks,
                             offsetof(FftsTaskRecord, end_ticks)),
    // Whatever else the firmware may log there: nothing of it is damage.
    row::Sized(chips::k310, file::kAiCore, sizeof(TsEventCountRecord)),
    row::Sized<IsAicoreTask>(chips::kAll & ~chips::k310, file::kAiCore, sizeof(AicoreTaskRecord),
                             StampDomain::kNone, 0),
    row::Sized<IsAicoreTask>(chips::kAll, file::kVectorCore, sizeof(AicoreTaskRecord), StampDomain::kNone, 0),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kAiCore,
     .kind = Kind::kAiCore,
     .stamp = StampDomain::kDeviceNs,
     .vendor_chips = chips::kBeforeStars,
     .make = MakeCores},
    {.file = file::kVectorCore,
     .kind = Kind::kAiVector,
     .stamp = StampDomain::kDeviceNs,
     .vendor_chips = profd::format::Families({Chip::k310P}),
     .make = MakeCores},
    {.file = file::kBothCores,
     .kind = Kind::kAiCore,
     .stamp = StampDomain::kDeviceNs,
     .vendor_chips = chips::kWithBothCores,
     .make = MakeCores},
};

constexpr const Series* kSeries[] = {&kCoreSeries};

}  // namespace

namespace family {
Family Cores() {
  return {.framings = kFramings, .by_task = kByTask, .decoders = kDecoders, .series = kSeries};
}
}  // namespace family

}  // namespace profd::format
