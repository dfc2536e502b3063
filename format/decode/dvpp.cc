// dvpp.data and dvpp.<engine>: what the media engines did.
#include <array>

#include "format/decode/device_decoders.h"
#include "format/decode/device_series.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/decode/text_time.h"
#include "format/framing.h"

namespace profd::format {

namespace {

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

}  // namespace

std::unique_ptr<Decoder> MakeDvpp(const DecodeContext& context, std::string_view file, int64_t) {
  const StreamFormat* format = FindStreamFormat(file, context.side->chip);
  return std::make_unique<Dvpp>(context, format != nullptr && format->min_columns == 12);
}

}  // namespace profd::format
