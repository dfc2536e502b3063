// dvpp.data and dvpp.<engine>: what the media engines did.
#include <array>

#include "format/decode/family.h"
#include "format/decode/framing.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/decode/text_time.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/series.h"

namespace profd::format {

namespace {

// type: DvppEngine. all_time, all_frame: running totals.
const Series kDvppSeries = {"dvpp",
                            Kind::kDvpp,
                            {"dvpp_id", "type", "engine"},
                            {{"all_time", Unit::kNs},
                             {"all_frames", Unit::kCount},
                             {"all_utilization", Unit::kRatio},
                             {"proc_time", Unit::kNs},
                             {"proc_frames", Unit::kCount},
                             {"proc_utilization", Unit::kRatio},
                             {"last_time", Unit::kNs},
                             {"last_frames", Unit::kCount}}};

constexpr double kNsPerUs = 1e3;
constexpr int64_t kEngineTypes = 7;

// **Thread:** one.
class Dvpp : public TableDecoder {
 public:
  Dvpp(const DecodeContext& context, bool has_id)
      : TableDecoder(context), has_id_(has_id), rows_(kDvppSeries, context) {}

  void Finish() override { rows_.Flush(); }

 protected:
  void Row(std::string_view line) override {
    Words words(line);
    const auto time_ns = TextTimeNs(words.Next());
    bool good = time_ns.has_value();
    const auto number = [&](std::string_view word) {
      const auto value = ToDouble(word);
      if (value && *value >= 0 && *value < 1e18) return *value;
      good = false;
      return 0.0;
    };
    const auto percent = [&](std::string_view word) {
      if (word.ends_with('%')) word.remove_suffix(1);
      return number(word) / 100;
    };
    const int64_t id = has_id_ ? static_cast<int64_t>(number(words.Next())) : 0;
    const auto type = static_cast<int64_t>(number(words.Next()));
    const auto engine = static_cast<int64_t>(number(words.Next()));
    std::array<double, 8> values;
    for (const size_t i : {size_t{0}, size_t{3}}) {  // of all time, of this process
      values[i] = number(words.Next()) * kNsPerUs;
      values[i + 1] = number(words.Next());
      values[i + 2] = percent(words.Next());
    }
    values[6] = number(words.Next()) * kNsPerUs;
    values[7] = number(words.Next());
    if (!good || !words.Next().empty()) return Reject("line that is none of this kind");
    if (type >= kEngineTypes) return Reject("engine of an unknown type");
    rows_.Add(context().DeviceNsToWall(*time_ns), {id, type, engine}, values);
  }

 private:
  const bool has_id_;
  Rows rows_;
};

std::unique_ptr<Decoder> MakeDvpp(const DecodeContext& context, std::string_view file, int64_t) {
  const StreamFormat* format = FindStreamFormat(file, context.side->chip);
  return std::make_unique<Dvpp>(context, format != nullptr && format->min_columns == 12);
}

constexpr ChipSet kDvppId = ChipsWith([](const ChipTraits& traits) { return traits.dvpp_id; });

constexpr FramingRow DvppRow(std::string_view file, bool id) {
  FramingRow entry = row::Timed(file, id ? 12 : 11, id ? 12 : 11, id ? kDvppHeader : kDvppHeaderNoId);
  entry.chips = id ? kDvppId : chips::kAll & ~kDvppId;
  constexpr uint16_t kPercent = 1u << 5 | 1u << 8;  // all_utilization, proc_utilization
  entry.format.percent_columns = id ? kPercent << 1 : kPercent;
  // [dvpp_id] engine_type engine_id tell engines apart.
  return row::With(entry, {1, id ? 3U : 2U},
                   file == file::kDvpp ? Tick{chips::kAll, 7, 65} : Tick{Only({Chip::k310P}), 1, 65},
                   {chips::kAll, 2, 65});
}

// One driver channel per engine; the vendor's parser has no name for these files.
constexpr DecoderEntry DvppEngine(std::string_view file) {
  return {.file = file,
          .kind = Kind::kDvpp,
          .by = DecoderEntry::By::kLine,
          .stamp = StampDomain::kTextDeviceNs,
          .vendor_chips = chips::kNobody,
          .only_without = file::kDvpp,
          .make = MakeDvpp};
}

constexpr FramingRow kFramings[] = {
    DvppRow(file::kDvpp, true),   DvppRow(file::kDvpp, false), DvppRow(file::kVdec, true),
    DvppRow(file::kVdec, false),  DvppRow(file::kJpegd, true), DvppRow(file::kJpegd, false),
    DvppRow(file::kPng, true),    DvppRow(file::kPng, false),  DvppRow(file::kJpege, true),
    DvppRow(file::kJpege, false), DvppRow(file::kVpc, true),   DvppRow(file::kVpc, false),
    DvppRow(file::kVenc, true),   DvppRow(file::kVenc, false), DvppRow(file::kScd, true),
    DvppRow(file::kScd, false),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kDvpp,
     .kind = Kind::kDvpp,
     .by = DecoderEntry::By::kLine,
     .stamp = StampDomain::kTextDeviceNs,
     .vendor_chips = chips::kVendorNic | chips::k950,
     .vendor_reads_last_slice_only = true,
     .make = MakeDvpp},
    DvppEngine(file::kVdec),
    DvppEngine(file::kJpegd),
    DvppEngine(file::kPng),
    DvppEngine(file::kJpege),
    DvppEngine(file::kVpc),
    DvppEngine(file::kVenc),
    DvppEngine(file::kScd),
};

constexpr const Series* kSeries[] = {&kDvppSeries};

}  // namespace

namespace family {
Family Dvpp() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
