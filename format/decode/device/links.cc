// pcie.data, hccs.data, ub.data: what went over the links.
#include <iterator>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/framing.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/decode/text_time.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/series.h"

namespace profd::format {

namespace {

const Series kPcieSeries = {
    "pcie",
    Kind::kPcie,
    {},
    {{"tx_post_min", Unit::kBytesPerSecond},    {"tx_post_max", Unit::kBytesPerSecond},
     {"tx_post_avg", Unit::kBytesPerSecond},    {"tx_nonpost_min", Unit::kBytesPerSecond},
     {"tx_nonpost_max", Unit::kBytesPerSecond}, {"tx_nonpost_avg", Unit::kBytesPerSecond},
     {"tx_cpl_min", Unit::kBytesPerSecond},     {"tx_cpl_max", Unit::kBytesPerSecond},
     {"tx_cpl_avg", Unit::kBytesPerSecond},     {"tx_nonpost_latency_min", Unit::kNs},
     {"tx_nonpost_latency_max", Unit::kNs},     {"tx_nonpost_latency_avg", Unit::kNs},
     {"rx_post_min", Unit::kBytesPerSecond},    {"rx_post_max", Unit::kBytesPerSecond},
     {"rx_post_avg", Unit::kBytesPerSecond},    {"rx_nonpost_min", Unit::kBytesPerSecond},
     {"rx_nonpost_max", Unit::kBytesPerSecond}, {"rx_nonpost_avg", Unit::kBytesPerSecond},
     {"rx_cpl_min", Unit::kBytesPerSecond},     {"rx_cpl_max", Unit::kBytesPerSecond},
     {"rx_cpl_avg", Unit::kBytesPerSecond}}};
// Of the interval that ends at the stamp.
const Series kHccsSeries = {
    "hccs", Kind::kHccs, {}, {{"tx", Unit::kBytesPerSecond}, {"rx", Unit::kBytesPerSecond}}};
const Series kUbSeries = {
    "ub", Kind::kUb, {"port"}, {{"rx", Unit::kBytesPerSecond}, {"tx", Unit::kBytesPerSecond}}};

constexpr double kMb = 1 << 20;

// **Thread:** one.
class Pcie : public Decoder {
 public:
  explicit Pcie(const DecodeContext& context) : Decoder(context), rows_(kPcieSeries, context) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<PcieRecord>(whole, [this](const PcieRecord& record) {
      ++records_;
      const PcieTriple triples[] = {
          record.tx_posted, record.tx_nonposted, record.tx_completion, record.tx_nonposted_latency,
          record.rx_posted, record.rx_nonposted, record.rx_completion};
      double values[std::size(triples) * 3];
      for (size_t i = 0; i < std::size(triples); ++i) {
        const double unit = i == kLatency ? 1 : kBytesPerUs;
        const uint32_t least = triples[i].min == kNone ? 0 : triples[i].min;
        values[i * 3] = least * unit;
        values[i * 3 + 1] = triples[i].max * unit;
        values[i * 3 + 2] = triples[i].avg * unit;
      }
      if (values[1] < values[0]) return Reject("most below least");
      rows_.Add(context().DeviceNsToWall(record.time_ns), {}, values);
    });
  }
  void Finish() override { rows_.Flush(); }

 private:
  static constexpr size_t kLatency = 3;  // in ns already
  static constexpr uint32_t kNone = 0xFFFFF;
  static constexpr double kBytesPerUs = 1e6;  // per second

  Rows rows_;
};

// Running totals. The vendor's parser takes the first line of every slice for a header, and has no value for
// the last line. **Thread:** one.
class Hccs : public TableDecoder {
 public:
  explicit Hccs(const DecodeContext& context) : TableDecoder(context), rows_(kHccsSeries, context) {}

  void NextSlice() override { first_line_ = true; }
  void Lost() override { has_before_ = false; }
  void Finish() override { rows_.Flush(); }

 protected:
  void Line(std::string_view line) override {
    if (std::exchange(first_line_, false) && context().vendor_compatible) return;
    TableDecoder::Line(line);
  }
  void Row(std::string_view line) override {
    Words words(line);
    const auto time_ns = TextTimeNs(words.Next());
    const auto tx = ToNumber<uint64_t>(words.Next());
    const auto rx = ToNumber<uint64_t>(words.Next());
    if (!time_ns || !tx || !rx || !words.Next().empty()) return Reject("line that is none of this kind");
    const Totals now = {*time_ns, *tx, *rx};
    if (std::exchange(has_before_, true)) Pair(now);
    before_ = now;
  }

 private:
  struct Totals {
    uint64_t time_ns = 0, tx = 0, rx = 0;
  };

  void Pair(const Totals& now) {
    if (context().vendor_compatible) EmitHeld();
    if (now.time_ns <= before_.time_ns) return Reject("stamp not behind that of the line in front");
    if (now.tx < before_.tx || now.rx < before_.rx) return Reject("total below that of the line in front");
    const std::optional<uint64_t> ns = now.time_ns - before_.time_ns;
    held_ = {context().DeviceNsToWall(now.time_ns), PerSecond(static_cast<double>(now.tx - before_.tx), ns),
             PerSecond(static_cast<double>(now.rx - before_.rx), ns)};
    has_held_ = true;
    if (!context().vendor_compatible) EmitHeld();
  }
  void EmitHeld() {
    if (std::exchange(has_held_, false)) rows_.Add(held_.wall_ns, {}, {held_.tx, held_.rx});
  }

  struct Speeds {
    uint64_t wall_ns = 0;
    double tx = 0, rx = 0;
  };

  Rows rows_;
  Totals before_;
  Speeds held_;
  bool has_before_ = false, has_held_ = false, first_line_ = true;
};

// **Thread:** one.
class Ub : public Decoder {
 public:
  explicit Ub(const DecodeContext& context) : Decoder(context), rows_(kUbSeries, context) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<UbRecord>(whole, [this](const UbRecord& record) {
      ++records_;
      rows_.Add(context().StartUsToWall(record.time_us), {record.port},
                {static_cast<double>(record.rx_mb_s) * kMb, static_cast<double>(record.tx_mb_s) * kMb});
    });
  }
  void Finish() override { rows_.Flush(); }

 private:
  Rows rows_;
};

std::unique_ptr<Decoder> MakePcie(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Pcie>(context);
}
std::unique_ptr<Decoder> MakeHccs(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Hccs>(context);
}
std::unique_ptr<Decoder> MakeUb(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<Ub>(context);
}

bool IsPcie(const std::byte* bytes) {
  constexpr size_t kFirst = offsetof(PcieRecord, tx_posted);
  constexpr size_t kValues = (sizeof(PcieRecord) - kFirst) / sizeof(uint32_t);
  const uint32_t all =
      Load<uint32_t>(bytes + kFirst) | check::AnyBits<kValues - 1>(bytes + kFirst + sizeof(uint32_t));
  const auto device = Load<uint32_t>(bytes + offsetof(PcieRecord, device));
  return check::All(check::IsNs(Load<uint64_t>(bytes)), device < check::kMostPorts, all <= check::kMostPcie);
}

constexpr FramingRow HccsRow() {
  FramingRow entry = row::Timed(file::kHccs, 3, 3, {});
  entry.format.records_per_period = 1;
  entry.format.every_slice_header = kHccsHeader;
  return entry;
}

bool IsUb(const std::byte* bytes) {
  const auto record = Load<UbRecord>(bytes);
  return check::All(record.port < check::kMostPorts, record.time_us < check::kMostUs,
                    record.rx_mb_s < check::kMostMbPerS, record.tx_mb_s < check::kMostMbPerS);
}

// What the mark of a UB record is nobody knows, but that it is the same in all.
uint32_t LeadingUb(const std::byte* data, uint32_t records, uint32_t record_bytes) {
  uint32_t count = 0;
  for (const std::byte* at = data; count < records && IsUb(at); at += record_bytes, ++count) {
    if (Load<uint16_t>(at) != Load<uint16_t>(data)) break;
  }
  return count;
}

constexpr FramingRow UbRow() {
  FramingRow entry = row::Fixed<UbRecord, IsUb>(chips::kAll, file::kUb, StampDomain::kStartUs64,
                                                offsetof(UbRecord, time_us), Combine::kThin, 0);
  entry.format.plausible = LeadingUb;
  return entry;
}

constexpr FramingRow kFramings[] = {
    row::With(row::Fixed<PcieRecord, IsPcie>(chips::kAll, file::kPcie, StampDomain::kDeviceNs,
                                             offsetof(PcieRecord, time_ns), Combine::kMinMaxAvg, 1),
              {offsetof(PcieRecord, device), 4}),
    row::With(HccsRow(), {}, {chips::kAll, 1, 44}),
    row::With(UbRow(), {offsetof(UbRecord, port), 2}, {chips::kAll, 2}),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kPcie,
     .kind = Kind::kPcie,
     .stamp = StampDomain::kDeviceNs,
     .vendor_chips = chips::kBeforeStars | chips::k910B | chips::k950,
     .in_order = true,
     .make = MakePcie},
    {.file = file::kHccs,
     .kind = Kind::kHccs,
     .by = DecoderEntry::By::kLine,
     .stamp = StampDomain::kTextDeviceNs,
     .vendor_chips = chips::kBeforeStars | chips::k910B,
     .make = MakeHccs},
    {.file = file::kUb,
     .kind = Kind::kUb,
     .stamp = StampDomain::kStartUs64,
     .vendor_chips = chips::k950,
     .make = MakeUb},
};

constexpr const Series* kSeries[] = {&kPcieSeries, &kHccsSeries, &kUbSeries};

}  // namespace

namespace family {
Family Links() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
