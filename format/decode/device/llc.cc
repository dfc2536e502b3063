// llc.data: eight counters per cache slice and period.
#include <algorithm>
#include <iterator>
#include <utility>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/line_decoder.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/device.h"
#include "format/series.h"

namespace profd::format {

namespace {

// write: the mode, read or write, that was sampled. The vendor's throughput is 64 times this one.
const Series kLlcSeries = {
    "llc", Kind::kLlc, {"id", "write"}, {{"hit_rate", Unit::kRatio}, {"throughput", Unit::kBytesPerSecond}}};
// 310. ai: 1 AI CPU, 0 control CPU.
const Series kLlcCapacitySeries = {"llc_capacity", Kind::kLlc, {"cpu", "ai"}, {{"capacity", Unit::kBytes}}};
const Series kLlcBandwidthSeries = {"llc_bandwidth",
                                    Kind::kLlc,
                                    {"id"},
                                    {{"read_allocate", Unit::kCount},
                                     {"read_noallocate", Unit::kCount},
                                     {"read_hit", Unit::kCount},
                                     {"write_allocate", Unit::kCount},
                                     {"write_noallocate", Unit::kCount},
                                     {"write_hit", Unit::kCount}}};

constexpr size_t kSlots = 8;
constexpr size_t kMostCaches = 64;
constexpr double kLineBytes = 64;
constexpr uint8_t kNoSlot = 0xFF;

// **Thread:** one.
class Llc : public Decoder {
 public:
  Llc(const DecodeContext& context, bool write)
      : Decoder(context),
        write_(write),
        v2_(context.side->records_v2),
        caches_used_(context.vendor_compatible ? TraitsOf(context.side->chip).vendor_caches : kMostCaches),
        rows_(kLlcSeries, context) {
    std::fill(std::begin(slot_of_), std::end(slot_of_), kNoSlot);
    const uint32_t(&events)[kSlots] = write ? kLlcWriteEvents : kLlcReadEvents;
    for (size_t i = 0; i < kSlots; ++i) slot_of_[events[i]] = static_cast<uint8_t>(i);
  }

  // The period that is cut here has no right sums, neither of its parts.
  void Lost() override {
    whole_ = false;
    lost_ = true;
  }
  void Take(std::span<const std::byte> whole) override {
    if (v2_) {
      EachRecord<LlcRecordV2>(whole, [this](const LlcRecordV2& record) { Add(record, record.wall_ns); });
    } else {
      EachRecord<LlcRecord>(whole, [this](const LlcRecord& record) { Add(record, record.time_us); });
    }
  }
  void Finish() override {
    EndPeriod();
    rows_.Flush();
  }

 private:
  struct Cache {
    uint64_t counts[kSlots] = {};
    bool seen = false;
    Elapsed elapsed;
  };

  template <typename Record>
  void Add(const Record& record, uint64_t time) {
    ++records_;
    const uint8_t slot = record.event < std::size(slot_of_) ? slot_of_[record.event] : kNoSlot;
    if (slot == kNoSlot) return Ignore("of events that are not of the mode in sample.json");
    if (record.llc_id >= caches_used_) return Ignore("of caches that nobody evaluates");
    if (time != time_) {
      EndPeriod();
      time_ = time;
      if (std::exchange(lost_, false)) {
        for (Cache& other : caches_) other.elapsed.Forget();
        whole_ = false;
      }
    }
    Cache& cache = caches_[record.llc_id];
    cache.seen = true;
    cache.counts[slot] += record.count;
    caches_seen_ = std::max(caches_seen_, size_t{record.llc_id} + 1);
  }

  void EndPeriod() {
    const uint64_t wall_ns = v2_ ? time_ : context().StartUsToWall(time_);
    const uint64_t time_ns = v2_ ? time_ : time_ * 1000;
    for (size_t id = 0; id < caches_seen_; ++id) {
      Cache& cache = caches_[id];
      if (!cache.seen) continue;
      const auto ns = cache.elapsed.Next(time_ns);
      if (!whole_) {
        // Reported by who lost the rest.
      } else if (ns && *ns == 0) {
        Reject("stamp not behind that of the period in front", kSlots);
      } else {
        const auto e = [&cache](size_t slot) { return static_cast<double>(cache.counts[slot]); };
        const double asked = e(4) + e(6);
        const double hit_rate = asked > 0 ? (e(2) + e(3) + e(5) + e(7)) / asked : 0;
        double throughput = PerSecond((e(0) + e(1)) * kLineBytes, ns);
        if (!ns && context().vendor_compatible) throughput = 0;
        rows_.Add(wall_ns, {static_cast<int64_t>(id), write_}, {hit_rate, throughput});
      }
      std::fill(std::begin(cache.counts), std::end(cache.counts), 0);
      cache.seen = false;
    }
    whole_ = true;
  }

  const bool write_, v2_;
  const size_t caches_used_;
  Rows rows_;
  uint8_t slot_of_[64];
  Cache caches_[kMostCaches];
  size_t caches_seen_ = 0;
  uint64_t time_ = 0;
  bool whole_ = true, lost_ = false;
};

// 310: text of `perf stat -I`, "<seconds> <count> <name>/<event>/". **Thread:** one.
class LlcText : public LineDecoder {
 public:
  LlcText(const DecodeContext& context, bool capacity)
      : LineDecoder(context),
        capacity_(capacity),
        capacity_rows_(kLlcCapacitySeries, context),
        bandwidth_rows_(kLlcBandwidthSeries, context) {}

  void Finish() override {
    EndMoment();
    capacity_rows_.Flush();
    bandwidth_rows_.Flush();
  }

 protected:
  void Line(std::string_view line) override {
    Words words(line);
    const std::string_view stamp = words.Next();
    if (stamp.empty() || stamp[0] == '#') return;
    ++records_;
    const auto seconds = ToDouble(stamp);
    std::string_view count_text = words.Next();
    uint64_t count = 0;
    if (count_text == "<not") {  // "<not counted>"
      words.Next();
    } else if (const auto number = ToNumber<uint64_t>(count_text)) {
      count = *number;
    } else {
      return Reject("line without a count");
    }
    std::string_view event = words.Next();
    const size_t slash = event.find('/');
    if (!seconds || !(*seconds >= 0 && *seconds < 1e9) || slash == std::string_view::npos) {
      return Reject("line without time or event");
    }
    const std::string_view unit = event.substr(0, slash);
    event = event.substr(slash + 1);
    if (event.ends_with('/')) event.remove_suffix(1);
    if (*seconds != seconds_) {
      EndMoment();
      seconds_ = *seconds;
    }
    if (capacity_) return Capacity(event, count);
    Bandwidth(unit, event, count);
  }

 private:
  uint64_t WallNs() const { return context().StartUsToWall(0) + static_cast<uint64_t>(seconds_ * 1e9); }

  void Capacity(std::string_view event, uint64_t count) {
    const auto cpu = event.starts_with("dsid") ? ToNumber<int64_t>(event.substr(4)) : std::nullopt;
    if (!cpu) return Ignore("of events that are not of the mode in sample.json");
    const SideFacts& side = *context().side;
    const bool ai = std::ranges::count(side.ai_cpus, *cpu) > 0;
    if (!ai && std::ranges::count(side.ctrl_cpus, *cpu) == 0) return Ignore("of CPUs that are neither");
    capacity_rows_.Add(WallNs(), {*cpu, ai}, {static_cast<double>(count) * kLineBytes});
  }

  void Bandwidth(std::string_view unit, std::string_view event, uint64_t count) {
    size_t column = 0;
    while (column < kColumns && ColumnName(column) != event) ++column;
    if (column == kColumns) return Ignore("of events that are not of the mode in sample.json");
    const size_t digits = unit.find_last_not_of("0123456789") + 1;
    const int64_t id = ToNumber<int64_t>(unit.substr(digits)).value_or(0);
    if (open_ && id != id_) EndMoment();
    id_ = id;
    open_ = true;
    values_[column] = static_cast<double>(count);
  }

  void EndMoment() {
    if (open_) bandwidth_rows_.Add(WallNs(), {id_}, values_);
    open_ = false;
    std::fill(std::begin(values_), std::end(values_), kNoValue);
  }

  static constexpr size_t kColumns = 6;
  static std::string_view ColumnName(size_t column) { return kLlcBandwidthSeries.columns[column].name; }

  const bool capacity_;
  Rows capacity_rows_, bandwidth_rows_;
  double seconds_ = -1;
  bool open_ = false;
  int64_t id_ = 0;
  double values_[kColumns] = {kNoValue, kNoValue, kNoValue, kNoValue, kNoValue, kNoValue};
};

std::unique_ptr<Decoder> MakeLlc(const DecodeContext& context, std::string_view, int64_t) {
  const std::string& mode = context.side->llc_mode;
  if (mode != "read" && mode != "write") return nullptr;
  return std::make_unique<Llc>(context, mode == "write");
}
std::unique_ptr<Decoder> MakeLlcText(const DecodeContext& context, std::string_view, int64_t) {
  const std::string& mode = context.side->llc_mode;
  if (mode != "capacity" && mode != "bandwidth") return nullptr;
  return std::make_unique<LlcText>(context, mode == "capacity");
}

constexpr uint64_t EventSet() {
  uint64_t set = 0;
  for (const uint32_t event : kLlcReadEvents) set |= uint64_t{1} << event;
  for (const uint32_t event : kLlcWriteEvents) set |= uint64_t{1} << event;
  return set;
}

bool IsLlc(const std::byte* bytes) {
  const auto record = Load<LlcRecord>(bytes);
  const bool known_event = (EventSet() >> (record.event & 63) & 1) != 0;
  return check::All(record.time_us < check::kMostUs, record.count < check::kMostCount, record.event < 64,
                    known_event, record.llc_id < check::kMostIds);
}

constexpr StreamFormat kLlcV2 =
    v2::Format<LlcRecordV2>(file::kLlc, StampDomain::kDeviceNs, offsetof(LlcRecordV2, wall_ns),
                            v2::Plausible<LlcRecordV2, &LlcRecordV2::wall_ns>);

constexpr FramingRow kFramings[] = {
    // Text of perf: "<seconds> <count> <event>".
    row::With(row::Lines(chips::k310, file::kLlc, 0, 0), {2, 1}, {chips::kAll, 32}),
    row::With(row::Fixed<LlcRecord, IsLlc>(chips::kAll & ~chips::k310, file::kLlc, StampDomain::kStartUs64,
                                           offsetof(LlcRecord, time_us), Combine::kSum, 0),
              {offsetof(LlcRecord, event), 8, offsetof(LlcRecord, count), 8, 1}, {chips::k910B, 16},
              {Only({Chip::k310B}), 8}, {chips::kAll, 32}),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kLlc,
     .kind = Kind::kLlc,
     .by = DecoderEntry::By::kLine,
     .stamp = StampDomain::kStartUs64,
     .layout_chips = chips::k310,
     .make = MakeLlcText},
    {.file = file::kLlc,
     .kind = Kind::kLlc,
     .stamp = StampDomain::kStartUs64,
     .layout_chips = ~chips::k310,
     .format_v2 = &kLlcV2,
     .in_order = true,
     .make = MakeLlc},
};

constexpr const Series* kSeries[] = {&kLlcSeries, &kLlcCapacitySeries, &kLlcBandwidthSeries};

}  // namespace

namespace family {
Family Llc() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
