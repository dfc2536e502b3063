// hbm.data: bytes per period, stack and direction.
#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "format/decode/family.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/records/packed.h"
#include "format/series.h"

namespace profd::format {

namespace {

// write: 0 read, 1 write.
const Series kHbmSeries = {"hbm", Kind::kHbm, {"id", "write"}, {{"bandwidth", Unit::kBytesPerSecond}}};

constexpr double kBytesPerCount = 32;
constexpr double kMb = 1 << 20;
// The vendor's parser takes it for granted that there are four stacks.
constexpr size_t kVendorStacks = 4;
constexpr size_t kMostOfPeriod = 4096;

// **Thread:** one.
class Hbm : public Decoder {
 public:
  explicit Hbm(const DecodeContext& context)
      : Decoder(context),
        v2_(context.side->records_v2),
        unit_ns_(v2_ ? 1 : 1000),
        rows_(kHbmSeries, context),
        vendor_times_(kVendorStacks * context.side->hbm_events.size()) {}

  void Lost() override { lost_ = true; }
  void Take(std::span<const std::byte> whole) override {
    const size_t size = v2_ ? sizeof(HbmRecordV2) : sizeof(HbmRecord);
    for (; whole.size() >= size; whole = whole.subspan(size)) {
      ++records_;
      if (v2_) {
        const auto record = Load<HbmRecordV2>(whole.data());
        Add(record.wall_ns, {record.event != 0, record.hbm_id, record.count});
      } else {
        const auto record = Load<HbmRecord>(whole.data());
        Add(record.time_us, {record.event != 0, record.hbm_id, record.count});
      }
    }
  }
  void Finish() override {
    EndPeriod();
    rows_.Flush();
  }

 private:
  struct Count {
    bool write = false;
    uint32_t id = 0;
    uint64_t count = 0;
    auto Order() const { return std::tuple(write, id); }
  };

  void Add(uint64_t time, Count count) {
    if (time != time_ || period_.size() >= kMostOfPeriod) {
      EndPeriod();
      time_ = time;
      if (std::exchange(lost_, false)) has_previous_ = false;
    }
    period_.push_back(count);
  }

  void EndPeriod() {
    if (period_.empty()) return;
    if (context().vendor_compatible) {  // whose results depend on the order
      std::sort(period_.begin(), period_.end(),
                [](const Count& a, const Count& b) { return a.Order() < b.Order(); });
    }
    const uint64_t wall_ns = v2_ ? time_ : context().StartUsToWall(time_);
    if (has_previous_ && time_ < previous_) {
      Reject("stamp before that of the period in front", period_.size());
    } else {
      for (const Count& count : period_) {
        const double rate = context().vendor_compatible ? VendorRate(count.count) : Rate(count.count);
        rows_.Add(wall_ns, {count.id, count.write}, {rate});
      }
    }
    has_previous_ = true;
    previous_ = time_;
    period_.clear();
  }

  double Seconds(uint64_t from) const { return static_cast<double>((time_ - from) * unit_ns_) / 1e9; }

  // Of the first period nobody knows how long it was.
  double Rate(uint64_t count) const {
    if (!has_previous_ || time_ == previous_) return kNoValue;
    return static_cast<double>(count) * kBytesPerCount / Seconds(previous_);
  }

  // The parser looks a fixed number of rows back for the beginning of the period.
  double VendorRate(uint64_t count) {
    const size_t back = vendor_times_.size();
    uint64_t& slot = vendor_times_[vendor_rows_ % back];
    const uint64_t before = vendor_rows_ < back ? time_ : slot;
    const bool first = vendor_rows_ < back;
    slot = time_;
    ++vendor_rows_;
    if (first) return 0;
    const auto value = static_cast<double>(count);
    return time_ > before ? value * kBytesPerCount / Seconds(before) : value * kMb;
  }

  const bool v2_;
  const uint64_t unit_ns_;
  Rows rows_;
  std::vector<Count> period_;
  uint64_t time_ = 0, previous_ = 0;
  bool has_previous_ = false, lost_ = false;
  std::vector<uint64_t> vendor_times_;
  uint64_t vendor_rows_ = 0;
};

std::unique_ptr<Decoder> MakeHbm(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Hbm>(context);
}

bool IsHbm(const std::byte* bytes) {
  const auto record = Load<HbmRecord>(bytes);
  return check::All(record.time_us < check::kMostUs, record.count < check::kMostCount, record.event <= 1,
                    record.hbm_id < check::kMostIds);
}

constexpr StreamFormat kHbmV2 =
    v2::Format<HbmRecordV2>(file::kHbm, StampDomain::kDeviceNs, offsetof(HbmRecordV2, wall_ns),
                            v2::Plausible<HbmRecordV2, &HbmRecordV2::wall_ns>);

constexpr FramingRow kFramings[] = {
    row::With(row::Fixed<HbmRecord, IsHbm>(chips::kAll, file::kHbm, StampDomain::kStartUs64,
                                           offsetof(HbmRecord, time_us), Combine::kSum, 8),
              {offsetof(HbmRecord, event), 8, offsetof(HbmRecord, count), 8, 1}),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kHbm,
     .kind = Kind::kHbm,
     .stamp = StampDomain::kStartUs64,
     .format_v2 = &kHbmV2,
     .in_order = true,
     .make = MakeHbm},
};

constexpr const Series* kSeries[] = {&kHbmSeries};

}  // namespace

namespace family {
Family Hbm() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
