// l2_cache.data and socpmu.data: counters of the chip outside of its cores, read out at the end of each task.
#include <algorithm>
#include <optional>
#include <vector>

#include "format/decode/family.h"
#include "format/decode/fixed.h"
#include "format/decode/rows.h"
#include "format/kind.h"
#include "format/records/tasks.h"
#include "format/series.h"

namespace profd::format {

namespace {

// Counted from one task to the next, by stream and task id; their records carry no time, so all are at the
// collection's begin. NaN: of no requests.
const Series kL2CacheSeries = {
    "l2_cache", Kind::kL2, {"stream", "task"}, {{"hit_rate", Unit::kRatio}, {"victim_rate", Unit::kRatio}}};
const Series kSocPmuSeries = {"soc_pmu",
                              Kind::kSocPmu,
                              {"stream", "task"},
                              {{"tlb_hit_rate", Unit::kRatio}, {"tlb_miss_rate", Unit::kRatio}}};
// Of what no rate is made: event is unit << 16 | its number; units as SocPmuType.
const Series kSocEventsSeries = {
    "soc_events", Kind::kSocPmu, {"stream", "task", "event"}, {{"count", Unit::kCount}}};

using Numbers = std::vector<uint32_t>;

using Formula = EventSum;
// What is made of a unit's counters: parts of all requests.
struct Rates {
  Formula requests, first, second;
};

Rates CacheRates(Chip chip) {  // hits, victims
  const format::CacheRates& rates = *TraitsOf(chip).l2_rates;
  return {rates.requests, rates.hits, rates.victims};
}
// Source: the analyser's msconfig/soc_pmu_config.py.
constexpr uint16_t kLookUps[] = {0x8a}, kFound[] = {0x8c, 0x8d}, kNotFound[] = {0x2};
Rates TranslationRates() { return {{kLookUps}, {kFound}, {kNotFound}}; }  // hits, misses

// A formula, by the places of the counters in a record. **Thread:** any.
class Sum {
 public:
  // Nothing unless all of its events were counted.
  static std::optional<Sum> Of(const Formula& formula, const Numbers& counted) {
    Sum sum;
    const auto place = [&](std::span<const uint16_t> events, std::vector<size_t>& places) {
      return std::ranges::all_of(events, [&](uint16_t event) {
        const auto found = std::ranges::find(counted, event);
        places.push_back(static_cast<size_t>(found - counted.begin()));
        return found != counted.end() && places.back() < kCounters;
      });
    };
    if (!place(formula.plus, sum.plus_) || !place(formula.minus, sum.minus_)) return std::nullopt;
    return sum;
  }
  double At(const uint64_t* counters) const {
    double sum = 0;
    for (const size_t place : plus_) sum += static_cast<double>(counters[place]);
    for (const size_t place : minus_) sum -= static_cast<double>(counters[place]);
    return sum;
  }

  static constexpr size_t kCounters = 8;

 private:
  std::vector<size_t> plus_, minus_;
};

// One unit: two rates, or where it counted other events each of them. **Thread:** one.
class UnitRows {
 public:
  UnitRows(SocPmuType unit, const Numbers& counted, const std::optional<Rates>& rates, const Series& series,
           const DecodeContext& context)
      : unit_(unit), counted_(counted), rates_(series, context), events_(kSocEventsSeries, context) {
    if (!rates) return;
    requests_ = Sum::Of(rates->requests, counted);
    first_ = Sum::Of(rates->first, counted);
    second_ = Sum::Of(rates->second, counted);
  }

  void Add(uint64_t wall_ns, uint32_t stream, uint32_t task, const uint64_t* counters) {
    if (requests_ && first_ && second_) {
      const double requests = requests_->At(counters);
      const auto part = [&](const Sum& sum) { return requests > 0 ? sum.At(counters) / requests : kNoValue; };
      return rates_.Add(wall_ns, {stream, task}, {part(*first_), part(*second_)});
    }
    for (size_t i = 0; i < std::min(counted_.size(), Sum::kCounters); ++i) {
      events_.Add(wall_ns, {stream, task, static_cast<int64_t>(unit_) << 16 | counted_[i]},
                  {static_cast<double>(counters[i])});
    }
  }
  void Flush() {
    rates_.Flush();
    events_.Flush();
  }
  bool knows_events() const { return !counted_.empty(); }

 private:
  const SocPmuType unit_;
  const Numbers counted_;
  std::optional<Sum> requests_, first_, second_;
  Rows rates_, events_;
};

constexpr char kNoEvents[] = "of counters that sample.json does not name";

// **Thread:** one.
class L2Cache : public Decoder {
 public:
  explicit L2Cache(const DecodeContext& context)
      : Decoder(context),
        unit_(SocPmuType::kHa, context.side->l2_events, CacheRates(context.side->chip), kL2CacheSeries,
              context) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<L2CacheRecord>(whole, [this](const L2CacheRecord& record) {
      ++records_;
      if (!unit_.knows_events()) return Ignore(kNoEvents);
      uint64_t counters[Sum::kCounters];
      std::copy(std::begin(record.event), std::end(record.event), counters);
      unit_.Add(context().side->begin_wall_ns, record.stream, record.task, counters);
    });
  }
  void Finish() override { unit_.Flush(); }

 private:
  UnitRows unit_;
};

// **Thread:** one.
template <typename Record>
class SocPmu : public Decoder {
 public:
  explicit SocPmu(const DecodeContext& context)
      : Decoder(context),
        cache_(SocPmuType::kHa, context.side->ha_events, CacheRates(context.side->chip), kL2CacheSeries,
               context),
        translation_(SocPmuType::kSmmu, context.side->smmu_events, TranslationRates(), kSocPmuSeries,
                     context),
        network_(SocPmuType::kNoc, context.side->noc_events, std::nullopt, kSocPmuSeries, context) {}

  void Take(std::span<const std::byte> whole) override {
    EachRecord<Record>(whole, [this](const Record& record) {
      ++records_;
      UnitRows* unit = UnitOf(static_cast<SocPmuType>(record.data_type));
      if (unit == nullptr) return Ignore("of page faults, which are not used");
      if (!unit->knows_events()) return Ignore(kNoEvents);
      uint64_t counters[Sum::kCounters];
      std::copy(std::begin(record.event), std::end(record.event), counters);
      unit->Add(context().side->begin_wall_ns, record.stream, record.task, counters);
    });
  }
  void Finish() override {
    for (UnitRows* unit : {&cache_, &translation_, &network_}) unit->Flush();
  }

 private:
  UnitRows* UnitOf(SocPmuType type) {
    switch (type) {
      case SocPmuType::kHa:
        return &cache_;
      case SocPmuType::kSmmu:
        return &translation_;
      case SocPmuType::kNoc:
        return &network_;
      case SocPmuType::kPageFaults:
        break;
    }
    return nullptr;
  }

  UnitRows cache_, translation_, network_;
};

std::unique_ptr<Decoder> MakeL2Cache(const DecodeContext& context, std::string_view, int64_t) {
  return std::make_unique<L2Cache>(context);
}

std::unique_ptr<Decoder> MakeSocPmu(const DecodeContext& context, std::string_view, int64_t) {
  if (TraitsOf(context.side->chip).core_events == 10)
    return std::make_unique<SocPmu<SocPmuRecord950>>(context);
  return std::make_unique<SocPmu<SocPmuRecord>>(context);
}

bool IsL2Cache(const std::byte* bytes) {
  constexpr size_t kEvents = offsetof(L2CacheRecord, event);
  return check::All(Load<uint16_t>(bytes) < check::kMostTaskTypes,
                    check::AreCounts(bytes + kEvents, std::size(L2CacheRecord{}.event)));
}

template <typename Record>
bool IsSocPmu(const std::byte* bytes) {
  const auto type = Load<uint16_t>(bytes + offsetof(Record, data_type));
  return check::All(type >= static_cast<uint16_t>(SocPmuType::kHa),
                    type <= static_cast<uint16_t>(SocPmuType::kPageFaults),
                    Load<uint16_t>(bytes + offsetof(Record, task_type)) < check::kMostTaskTypes,
                    check::AreCounts(bytes + offsetof(Record, event), std::size(Record{}.event)));
}

constexpr FramingRow kFramings[] = {
    row::Sized<IsL2Cache>(chips::kAll, file::kL2Cache, sizeof(L2CacheRecord), StampDomain::kNone, 0),
    row::Sized<IsSocPmu<SocPmuRecord950>>(chips::kTenEvents, file::kSocPmu, sizeof(SocPmuRecord950),
                                          StampDomain::kNone, 0),
    row::Sized<IsSocPmu<SocPmuRecord>>(chips::kAll & ~chips::kTenEvents, file::kSocPmu, sizeof(SocPmuRecord),
                                       StampDomain::kNone, 0),
};

constexpr DecoderEntry kDecoders[] = {
    {.file = file::kSocPmu,
     .kind = Kind::kSocPmu,
     .vendor_chips = chips::k910B | chips::k950,
     .of_tasks = true,
     .make = MakeSocPmu},
    {.file = file::kL2Cache,
     .kind = Kind::kL2,
     .vendor_chips = (chips::kBeforeStars & ~chips::k310) | chips::kWithBothCores,
     .of_tasks = true,
     .make = MakeL2Cache},
};

constexpr const Series* kSeries[] = {&kL2CacheSeries, &kSocPmuSeries, &kSocEventsSeries};

}  // namespace

namespace family {
Family TaskCounters() { return {.framings = kFramings, .decoders = kDecoders, .series = kSeries}; }
}  // namespace family

}  // namespace profd::format
