// Files of profd's own kinds: "time <raw ns>", then rows "<what> <number or -> … <name>", each of one thing
// that is counted.
#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "format/decode/family.h"
#include "format/decode/host/host_series.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/kind.h"

namespace profd::format {

namespace {

constexpr size_t kMostColumns = 24;
constexpr size_t kMostThings = 4096;  // of one kind of row

struct Column {
  enum class Is : uint8_t { kCounted, kState } is = Is::kCounted;
  double scale = 1;  // of the number in the file
};
constexpr Column kCounted{};
constexpr Column kState{Column::Is::kState, 1};
constexpr Column kCpuTime{Column::Is::kCounted, 1e-6};  // µs
constexpr Column kCpuLimit{Column::Is::kState, 1e-6};   // µs in a second
constexpr Column kTransfers{Column::Is::kState, 1e6};   // millions in a second

struct RowKind {
  std::string_view what;
  const Series* series;
  std::vector<Column> columns;
};

const std::vector<RowKind>& RowKinds() {
  static const std::vector<RowKind> kKinds = {
      {"cgroup",
       &kHostCgroupSeries,
       {kCpuTime, kCpuLimit, kCounted, kCounted, kCpuTime, kState, kState, kState, kState, kCounted, kCounted,
        kCounted, kCounted, kCounted, kState, kState}},
      {"net",
       &kHostNetDeviceSeries,
       {kCounted, kCounted, kCounted, kCounted, kCounted, kCounted, kCounted, kCounted, kCounted, kCounted,
        kState, kState}},
      {"rdma", &kHostRdmaPortSeries, std::vector<Column>(14, kCounted)},
      {"pfc", &kHostPortPfcSeries, std::vector<Column>(21, kCounted)},
      {"numa", &kHostNumaSeries, {kCounted, kCounted, kCounted, kCounted, kCounted, kCounted, kState}},
      {"pcie", &kHostPcieLinkSeries, {kTransfers, kState, kTransfers, kState}},
  };
  return kKinds;
}

// **Thread:** one.
class HostCounters : public LineDecoder {
 public:
  explicit HostCounters(const DecodeContext& context) : LineDecoder(context) {
    for (const RowKind& kind : RowKinds())
      kinds_.push_back({&kind, std::make_unique<Rows>(*kind.series, context), {}});
  }
  void Finish() override {
    for (Kind& kind : kinds_) kind.rows->Flush();
  }

 private:
  using Numbers = std::array<std::optional<uint64_t>, kMostColumns>;
  struct Thing {
    int64_t number = 0;
    uint64_t raw_ns = 0;
    Numbers before;
  };
  struct Kind {
    const RowKind* kind;
    std::unique_ptr<Rows> rows;
    std::map<std::string, Thing, std::less<>> things;
  };

  void Line(std::string_view line) override {
    if (line.starts_with("time ")) {
      ++records_;
      const auto raw_ns = ToNumber<uint64_t>(line.substr(5));
      open_ = raw_ns.has_value();
      if (!open_) return Reject("no time in the sample's first line");
      raw_ns_ = *raw_ns;
      wall_ns_ = context().HostRawToWall(raw_ns_);
      return;
    }
    if (!open_ || line.empty() || context().vendor_compatible) return;
    Words words(line);
    const std::string_view what = words.Next();
    const auto kind = std::find_if(kinds_.begin(), kinds_.end(),
                                   [what](const Kind& one) { return one.kind->what == what; });
    if (kind == kinds_.end()) return Ignore("rows of a kind that is not known here");
    const size_t columns = kind->kind->columns.size();
    Numbers numbers;
    for (size_t i = 0; i < columns; ++i) {
      const std::string_view word = words.Next();
      numbers[i] = ToNumber<uint64_t>(word);
      if (!numbers[i] && word != "-") return Reject("neither a number nor a '-' where one is due");
    }
    std::string_view name = words.rest();
    if (name.size() < 2 || name.front() != ' ') return Reject("row without a name");
    name.remove_prefix(1);
    Add(*kind, name, numbers);
  }

  void Add(Kind& kind, std::string_view name, const Numbers& numbers) {
    auto thing = kind.things.find(name);
    const bool is_new = thing == kind.things.end();
    if (is_new) {
      if (kind.things.size() >= kMostThings) return Reject("rows of more things than there is room for");
      const auto number = static_cast<int64_t>(kind.things.size());
      thing = kind.things.emplace(std::string(name), Thing{number, 0, {}}).first;
      kind.rows->Label(0, number, name);
    }
    Thing& known = thing->second;
    const bool passes = !is_new && raw_ns_ > known.raw_ns;
    if (!is_new && !passes) return Reject("time does not pass between two samples");
    const double seconds = static_cast<double>(raw_ns_ - known.raw_ns) / 1e9;
    std::array<double, kMostColumns> values;
    const size_t columns = kind.kind->columns.size();
    for (size_t i = 0; i < columns; ++i) {
      const Column& column = kind.kind->columns[i];
      values[i] = kNoValue;
      if (!numbers[i]) continue;
      if (column.is == Column::Is::kState) {
        values[i] = static_cast<double>(*numbers[i]) * column.scale;
      } else if (passes && known.before[i] && *numbers[i] >= *known.before[i]) {
        values[i] = static_cast<double>(*numbers[i] - *known.before[i]) * column.scale / seconds;
      }
    }
    known.raw_ns = raw_ns_;
    known.before = numbers;
    kind.rows->Add(wall_ns_, {known.number}, std::span(values.data(), columns));
  }

  std::vector<Kind> kinds_;
  uint64_t raw_ns_ = 0, wall_ns_ = 0;
  bool open_ = false;
};

std::unique_ptr<Decoder> MakeHostCounters(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<HostCounters>(context);
}

constexpr DecoderEntry kDecoders[] = {
    row::OfHost(file::kHostCgroup, Kind::kHostCgroup, MakeHostCounters, "time "),
    row::OfHost(file::kHostNetDevices, Kind::kHostNetDevices, MakeHostCounters, "time "),
    row::OfHost(file::kHostHardware, Kind::kHostHardware, MakeHostCounters, "time "),
};

}  // namespace

namespace family {
Family HostCounters() { return {.decoders = kDecoders}; }
}  // namespace family

}  // namespace profd::format
