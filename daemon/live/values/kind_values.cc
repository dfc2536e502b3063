#include "daemon/live/values/kind_values.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>

#include "daemon/driver/starts.h"
#include "daemon/live/values/metrics.h"
#include "format/clock_map.h"
#include "format/decode/catalogue.h"
#include "format/events/spans.h"
#include "format/records/packed.h"

namespace profd::live {

namespace {

enum class Over : uint8_t { kSum, kMean };

// How one column of a series becomes a metric: rows of all keys together, but for those of one key apart.
struct Rule {
  std::string_view series, column;
  const Metric* metric;
  Over over = Over::kSum;
  Label label = {};           // the same for all
  std::string_view key = {};  // rows apart by this key, whose values are called …
  std::string_view key_label = {};
  std::array<std::string_view, 7> key_names = {};  // … or by their number, or by the decoder's label
  double scale = 1;
};

constexpr std::array<std::string_view, 7> kReadWrite = {"read", "write"};
constexpr std::array<std::string_view, 7> kScopes = {"application", "device"};
constexpr std::array<std::string_view, 7> kEngines = {"vdec", "jpegd", "pngd", "jpege", "vpc", "venc", "scd"};

const std::vector<Rule>& Rules() {
  static const std::vector<Rule> kRules = {
      {.series = "hbm",
       .column = "bandwidth",
       .metric = &kHbmRate,
       .key = "write",
       .key_label = "direction",
       .key_names = kReadWrite},
      {.series = "ddr", .column = "read", .metric = &kDdrRate, .label = {"direction", "read"}},
      {.series = "ddr", .column = "write", .metric = &kDdrRate, .label = {"direction", "write"}},
      {.series = "llc",
       .column = "throughput",
       .metric = &kLlcRate,
       .key = "write",
       .key_label = "direction",
       .key_names = kReadWrite},
      {.series = "llc",
       .column = "hit_rate",
       .metric = &kLlcHits,
       .over = Over::kMean,
       .key = "write",
       .key_label = "direction",
       .key_names = kReadWrite},
      {.series = "pcie",
       .column = "tx_post_avg",
       .metric = &kPcieRate,
       .label = {"transaction", "tx_posted"}},
      {.series = "pcie",
       .column = "tx_nonpost_avg",
       .metric = &kPcieRate,
       .label = {"transaction", "tx_nonposted"}},
      {.series = "pcie",
       .column = "tx_cpl_avg",
       .metric = &kPcieRate,
       .label = {"transaction", "tx_completion"}},
      {.series = "pcie",
       .column = "rx_post_avg",
       .metric = &kPcieRate,
       .label = {"transaction", "rx_posted"}},
      {.series = "pcie",
       .column = "rx_nonpost_avg",
       .metric = &kPcieRate,
       .label = {"transaction", "rx_nonposted"}},
      {.series = "pcie",
       .column = "rx_cpl_avg",
       .metric = &kPcieRate,
       .label = {"transaction", "rx_completion"}},
      {.series = "pcie", .column = "tx_nonpost_latency_avg", .metric = &kPcieLatency, .scale = 1e-9},
      {.series = "hccs", .column = "tx", .metric = &kHccsRate, .label = {"direction", "tx"}},
      {.series = "hccs", .column = "rx", .metric = &kHccsRate, .label = {"direction", "rx"}},
      {.series = "ub", .column = "tx", .metric = &kUbRate, .label = {"direction", "tx"}},
      {.series = "ub", .column = "rx", .metric = &kUbRate, .label = {"direction", "rx"}},
      {.series = "nic", .column = "tx_byte_rate", .metric = &kNicRate, .label = {"direction", "tx"}},
      {.series = "nic", .column = "rx_byte_rate", .metric = &kNicRate, .label = {"direction", "rx"}},
      {.series = "nic", .column = "tx_errors", .metric = &kNicErrors, .label = {"direction", "tx"}},
      {.series = "nic", .column = "rx_errors", .metric = &kNicErrors, .label = {"direction", "rx"}},
      {.series = "nic", .column = "tx_dropped", .metric = &kNicDropped, .label = {"direction", "tx"}},
      {.series = "nic", .column = "rx_dropped", .metric = &kNicDropped, .label = {"direction", "rx"}},
      {.series = "roce", .column = "tx_byte_rate", .metric = &kRoceRate, .label = {"direction", "tx"}},
      {.series = "roce", .column = "rx_byte_rate", .metric = &kRoceRate, .label = {"direction", "rx"}},
      {.series = "roce", .column = "tx_errors", .metric = &kRoceErrors, .label = {"direction", "tx"}},
      {.series = "roce", .column = "rx_errors", .metric = &kRoceErrors, .label = {"direction", "rx"}},
      {.series = "roce", .column = "tx_dropped", .metric = &kRoceDropped, .label = {"direction", "tx"}},
      {.series = "roce", .column = "rx_dropped", .metric = &kRoceDropped, .label = {"direction", "rx"}},
      {.series = "dvpp",
       .column = "all_utilization",
       .metric = &kDvpp,
       .over = Over::kMean,
       .key = "type",
       .key_label = "engine",
       .key_names = kEngines},
      {.series = "npu_mem",
       .column = "hbm",
       .metric = &kNpuMem,
       .label = {"memory", "hbm"},
       .key = "device",
       .key_label = "scope",
       .key_names = kScopes},
      {.series = "npu_mem",
       .column = "ddr",
       .metric = &kNpuMem,
       .label = {"memory", "ddr"},
       .key = "device",
       .key_label = "scope",
       .key_names = kScopes},
      {.series = "npu_module_mem", .column = "reserved", .metric = &kModuleMem},
      {.series = "qos", .column = "bandwidth", .metric = &kQos, .key = "stream", .key_label = "stream"},
      {.series = "sio", .column = "dat_tx", .metric = &kSioRate, .label = {"direction", "tx"}},
      {.series = "sio", .column = "dat_rx", .metric = &kSioRate, .label = {"direction", "rx"}},
      {.series = "core_sample",
       .column = "usage",
       .metric = &kCoreUse,
       .over = Over::kMean,
       .key = "vector",
       .key_label = "core",
       .key_names = {"cube", "vector"}},
      {.series = "voltage",
       .column = "millivolts",
       .metric = &kVoltage,
       .key = "type",
       .key_label = "rail",
       .key_names = {"", "core", "bus"},
       .scale = 1e-3},
  };
  return kRules;
}

using Keys = std::array<int64_t, 3>;

// The newest value of every column, by keys.
class Newest : public format::RowSink {
 public:
  struct Table {
    const format::Series* series = nullptr;
    std::map<Keys, std::vector<double>> rows;
    std::map<std::pair<size_t, int64_t>, std::string> labels;
  };

  void Label(const format::Series& series, int, size_t key, int64_t value, std::string_view text) override {
    Of(series).labels[{key, value}] = text;
  }
  void Rows(const format::RowBatch& batch) override {
    Table& table = Of(*batch.series);
    const size_t keys = batch.series->keys.size(), columns = batch.series->columns.size();
    for (size_t row = 0; row < batch.rows(); ++row) {
      Keys at{};
      std::copy_n(batch.keys.begin() + static_cast<std::ptrdiff_t>(row * keys), keys, at.begin());
      if (!table.rows.contains(at) && table.rows.size() >= kMostKeys) continue;
      std::vector<double>& newest = table.rows[at];
      newest.resize(columns, format::kNoValue);
      for (size_t column = 0; column < columns; ++column) {
        const double value = batch.values[row * columns + column];
        if (!std::isnan(value)) newest[column] = value;
      }
    }
  }
  const std::map<std::string_view, Table>& tables() const { return tables_; }

 private:
  static constexpr size_t kMostKeys = 4096;

  Table& Of(const format::Series& series) {
    Table& table = tables_[series.name];
    table.series = &series;
    return table;
  }

  std::map<std::string_view, Table> tables_;
};

class NoSpans : public format::SpanSink {
 public:
  void Spans(const format::SpanBatch&) override {}
};

size_t ColumnOf(const format::Series& series, std::string_view name) {
  size_t column = 0;
  while (column < series.columns.size() && series.columns[column].name != name) ++column;
  return column;
}

size_t KeyOf(const format::Series& series, std::string_view name) {
  return static_cast<size_t>(std::ranges::find(series.keys, name) - series.keys.begin());
}

std::string KeyName(const Rule& rule, const Newest::Table& table, size_t key, int64_t value) {
  const auto index = static_cast<size_t>(value);
  if (index < rule.key_names.size() && !rule.key_names[index].empty())
    return std::string(rule.key_names[index]);
  const auto label = table.labels.find({key, value});
  return label == table.labels.end() ? std::to_string(value) : label->second;
}

void Apply(const Rule& rule, const Newest::Table& table, const std::vector<Label>& labels,
           std::vector<Sample>& samples) {
  const size_t column = ColumnOf(*table.series, rule.column);
  if (column == table.series->columns.size()) return;
  const size_t key = rule.key.empty() ? table.series->keys.size() : KeyOf(*table.series, rule.key);
  struct Group {
    double sum = 0;
    size_t rows = 0;
  };
  std::map<int64_t, Group> groups;
  for (const auto& [keys, values] : table.rows) {
    if (std::isnan(values[column])) continue;
    // The decoder's own average of all cores would count twice.
    if (rule.metric == &kCoreUse && keys[0] < 0) continue;
    Group& group = groups[key < table.series->keys.size() ? keys[key] : 0];
    group.sum += values[column];
    ++group.rows;
  }
  for (const auto& [value, group] : groups) {
    Sample& sample = samples.emplace_back(Sample{.metric = rule.metric, .labels = labels});
    if (!rule.label.name.empty()) sample.labels.push_back(rule.label);
    if (!rule.key.empty()) sample.labels.push_back({rule.key_label, KeyName(rule, table, key, value)});
    sample.value = group.sum * rule.scale;
    if (rule.over == Over::kMean) sample.value /= static_cast<double>(group.rows);
  }
}

// Without the last period where that lacks records the one before has: its rest is still to come.
std::span<const std::byte> WholePeriods(const device::Peeked& peeked) {
  const format::StreamFormat& format = *peeked.format;
  const std::span<const std::byte> records = peeked.records;
  const bool wide = format.stamp == format::StampDomain::kStartUs64;
  if (!wide && format.stamp != format::StampDomain::kStartUs32) return records;
  const size_t size = format.record_bytes, count = records.size() / size;
  const auto stamp = [&](size_t record) -> uint64_t {
    const std::byte* at = records.data() + record * size + format.stamp_offset;
    return wide ? format::Load<uint64_t>(at) : format::Load<uint32_t>(at);
  };
  const auto begin_of = [&](size_t end) {
    size_t begin = end;
    while (begin > 0 && stamp(begin - 1) == stamp(end - 1)) --begin;
    return begin;
  };
  if (count == 0) return records;
  const size_t last = begin_of(count);
  if (last == 0 || count - last >= last - begin_of(last)) return records;
  return records.first(last * size);
}

// What the control files of a session would tell a decoder.
format::SideFacts SideOf(const device::Peeked& peeked, const driver::DeviceFacts& facts) {
  format::SideFacts side;
  side.device = static_cast<int>(peeked.device);
  side.chip = facts.chip;
  side.counter_mhz = peeked.counter_mhz;
  side.aic_mhz = facts.aic_mhz;
  side.aiv_mhz = facts.aiv_mhz;
  side.ai_core_num = facts.ai_core_num;
  side.aiv_num = facts.aiv_num;
  side.cores_sampled = true;
  side.has_host_clock = side.has_device_clock = true;
  driver::NoteStart(peeked.channel, peeked.para, facts, side);
  return side;
}

}  // namespace

bool HasValues(std::string_view kind) {
  return std::ranges::any_of(Rules(), [&](const Rule& rule) { return rule.metric->kind == kind; }) ||
         kind == "npu-app-mem" || kind == "aivector";
}

void AddKindValues(const device::Peeked& peeked, const driver::DeviceFacts& facts,
                   const std::vector<Label>& labels, std::vector<Sample>& samples) {
  if (peeked.format == nullptr || !HasValues(peeked.kind)) return;
  const format::SideFacts side = SideOf(peeked, facts);
  int64_t pid = 0;
  const format::DecoderEntry* entry = format::FindDecoder(peeked.format->file, side, pid);
  if (entry == nullptr) return;
  // Only differences of stamps matter here, so any common beginning of all clocks will do.
  format::ClockMap clocks(side.counter_mhz, 0);
  clocks.Add({.host_raw_ns = 1, .host_counter = 1, .wall_ns = 1, .device_raw_ns = 1, .device_counter = 1});
  Newest newest;
  NoSpans no_spans;
  format::Texts texts;
  format::DecodeContext context;
  context.side = &side;
  context.clocks = &clocks;
  context.rows = &newest;
  context.spans = &no_spans;
  context.texts = &texts;
  context.kind = NameOf(entry->kind);
  const std::unique_ptr<format::Decoder> decoder = entry->make(context, peeked.format->file, pid);
  if (decoder == nullptr) return;
  decoder->NextSlice();
  decoder->Lost();  // what came before is not here
  decoder->Take(WholePeriods(peeked));
  decoder->Finish();
  for (const Rule& rule : Rules()) {
    const auto table = newest.tables().find(rule.series);
    if (table != newest.tables().end()) Apply(rule, table->second, labels, samples);
  }
}

}  // namespace profd::live
