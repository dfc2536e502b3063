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
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/series.h"

namespace profd::format {

namespace {

// Of profd's own kinds (format/decode/host/host_counters.cc). What is counted is a rate of the interval that
// ends at the stamp, what is a state is that of the stamp; of the first sample there are states only. key
// cgroup: a number whose label is its name. cpu, cpu_limit, throttled_cpu: in CPUs.
const Series kHostCgroupSeries{"host_cgroup",
                               Kind::kHostCgroup,
                               {"cgroup"},
                               {{"cpu", Unit::kCount},
                                {"cpu_limit", Unit::kCount},
                                {"periods", Unit::kPerSecond},
                                {"throttled", Unit::kPerSecond},
                                {"throttled_cpu", Unit::kCount},
                                {"memory", Unit::kBytes},
                                {"memory_limit", Unit::kBytes},
                                {"anonymous", Unit::kBytes},
                                {"file", Unit::kBytes},
                                {"major_faults", Unit::kPerSecond},
                                {"read", Unit::kBytesPerSecond},
                                {"write", Unit::kBytesPerSecond},
                                {"reads", Unit::kPerSecond},
                                {"writes", Unit::kPerSecond},
                                {"pids", Unit::kCount},
                                {"pids_limit", Unit::kCount}}};
// key device, port, node, function: numbers whose labels are their names.
const Series kHostNetDeviceSeries{"host_net_device",
                                  Kind::kHostNetDevices,
                                  {"device"},
                                  {{"rx", Unit::kBytesPerSecond},
                                   {"tx", Unit::kBytesPerSecond},
                                   {"rx_packets", Unit::kPerSecond},
                                   {"tx_packets", Unit::kPerSecond},
                                   {"rx_errors", Unit::kPerSecond},
                                   {"tx_errors", Unit::kPerSecond},
                                   {"rx_dropped", Unit::kPerSecond},
                                   {"tx_dropped", Unit::kPerSecond},
                                   {"rx_crc_errors", Unit::kPerSecond},
                                   {"rx_missed", Unit::kPerSecond},
                                   {"carrier_changes", Unit::kCount},
                                   {"speed", Unit::kBytesPerSecond}}};
const Series kHostRdmaPortSeries{"host_rdma_port",
                                 Kind::kHostNetDevices,
                                 {"port"},
                                 {{"rx", Unit::kBytesPerSecond},
                                  {"tx", Unit::kBytesPerSecond},
                                  {"rx_packets", Unit::kPerSecond},
                                  {"tx_packets", Unit::kPerSecond},
                                  {"tx_wait", Unit::kPerSecond},
                                  {"rx_errors", Unit::kPerSecond},
                                  {"tx_discards", Unit::kPerSecond},
                                  {"symbol_errors", Unit::kPerSecond},
                                  {"cnp_sent", Unit::kPerSecond},
                                  {"cnp_handled", Unit::kPerSecond},
                                  {"out_of_sequence", Unit::kPerSecond},
                                  {"sequence_errors", Unit::kPerSecond},
                                  {"ack_timeouts", Unit::kPerSecond},
                                  {"rnr_retries", Unit::kPerSecond}}};
// What the driver of an interface counts of pauses and congestion; of eight priorities.
const Series kHostPortPfcSeries{"host_port_pfc",
                                Kind::kHostNetDevices,
                                {"device"},
                                {{"rx_pause", Unit::kPerSecond},     {"tx_pause", Unit::kPerSecond},
                                 {"rx_pfc_0", Unit::kPerSecond},     {"rx_pfc_1", Unit::kPerSecond},
                                 {"rx_pfc_2", Unit::kPerSecond},     {"rx_pfc_3", Unit::kPerSecond},
                                 {"rx_pfc_4", Unit::kPerSecond},     {"rx_pfc_5", Unit::kPerSecond},
                                 {"rx_pfc_6", Unit::kPerSecond},     {"rx_pfc_7", Unit::kPerSecond},
                                 {"tx_pfc_0", Unit::kPerSecond},     {"tx_pfc_1", Unit::kPerSecond},
                                 {"tx_pfc_2", Unit::kPerSecond},     {"tx_pfc_3", Unit::kPerSecond},
                                 {"tx_pfc_4", Unit::kPerSecond},     {"tx_pfc_5", Unit::kPerSecond},
                                 {"tx_pfc_6", Unit::kPerSecond},     {"tx_pfc_7", Unit::kPerSecond},
                                 {"rx_discards", Unit::kPerSecond},  {"rx_no_buffer", Unit::kPerSecond},
                                 {"rx_ecn_marked", Unit::kPerSecond}}};
// Pages, of which `other` were for another node's processes.
const Series kHostNumaSeries{"host_numa",
                             Kind::kHostHardware,
                             {"node"},
                             {{"hit", Unit::kPerSecond},
                              {"miss", Unit::kPerSecond},
                              {"foreign", Unit::kPerSecond},
                              {"interleave_hit", Unit::kPerSecond},
                              {"local", Unit::kPerSecond},
                              {"other", Unit::kPerSecond},
                              {"free", Unit::kBytes}}};
// Speeds in transfers/s of a lane.
const Series kHostPcieLinkSeries{
    "host_pcie_link",
    Kind::kHostHardware,
    {"function"},
    {{"speed", Unit::kHz}, {"width", Unit::kCount}, {"max_speed", Unit::kHz}, {"max_width", Unit::kCount}}};

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

constexpr const Series* kSeries[] = {&kHostCgroupSeries,  &kHostNetDeviceSeries, &kHostRdmaPortSeries,
                                     &kHostPortPfcSeries, &kHostNumaSeries,      &kHostPcieLinkSeries};

}  // namespace

namespace family {
Family HostCounters() { return {.decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
