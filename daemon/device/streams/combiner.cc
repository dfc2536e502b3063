#include "daemon/device/streams/combiner.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string_view>
#include <vector>

#include "daemon/device/streams/records.h"
#include "format/decode/units.h"
#include "format/records/device.h"
#include "format/records/packed.h"

namespace profd::device {

using format::Combine;
using format::Framing;
using format::Load;
using format::StampDomain;
using format::Store;
using format::StreamFormat;

namespace {

// More keys than any chip has units; records of others pass as they are.
constexpr size_t kMaxKeys = 512;

uint64_t Hash(const std::byte* bytes, size_t size) {
  uint64_t hash = 0xcbf29ce484222325U;  // FNV-1a
  for (size_t i = 0; i < size; ++i) hash = (hash ^ static_cast<uint64_t>(bytes[i])) * 0x100000001b3U;
  return hash;
}

// The bytes of `count` columns of a line from column `first` on.
std::string_view Columns(std::string_view line, uint32_t first, uint32_t count) {
  size_t begin = 0;
  for (uint32_t i = 0; i < first && begin < line.size(); ++i) {
    begin = std::min(line.find_first_not_of(' ', std::min(line.find(' ', begin), line.size())), line.size());
  }
  size_t end = begin;
  for (uint32_t i = 0; i < count && end < line.size(); ++i) {
    end = std::min(line.find_first_of(" \n", line.find_first_not_of(' ', end)), line.size());
  }
  return line.substr(begin, end - begin);
}

// The units seen so far, numbered from 0. They come in the same order every period, so the next one is mostly
// the one after the last.
class Keys {
 public:
  explicit Keys(const StreamFormat& format)
      : text_(format.framing == Framing::kLines), units_(format::UnitsOf(format)) {
    hashes_.reserve(kMaxKeys);
  }

  const format::Units& units() const { return units_; }
  size_t size() const { return hashes_.size(); }

  // kMaxKeys when there are too many.
  size_t Find(const std::byte* record, uint32_t bytes) {
    const uint64_t hash = HashOf(record, bytes);
    next_ = next_ < hashes_.size() ? next_ : 0;
    if (next_ < hashes_.size() && hashes_[next_] == hash) return next_++;
    const auto found = std::find(hashes_.begin(), hashes_.end(), hash);
    if (found == hashes_.end()) {
      if (hashes_.size() == kMaxKeys) return kMaxKeys;
      hashes_.push_back(hash);
      next_ = hashes_.size();
      return hashes_.size() - 1;
    }
    next_ = static_cast<size_t>(found - hashes_.begin()) + 1;
    return next_ - 1;
  }

 private:
  uint64_t HashOf(const std::byte* record, uint32_t bytes) const {
    if (units_.key_size == 0) return 0;
    if (!text_) return Hash(record + units_.key_at, units_.key_size);
    const std::string_view key =
        Columns({reinterpret_cast<const char*>(record), bytes}, units_.key_at, units_.key_size);
    return Hash(reinterpret_cast<const std::byte*>(key.data()), key.size());
  }

  const bool text_;
  const format::Units units_;
  std::vector<uint64_t> hashes_;
  size_t next_ = 0;
};

// Running totals and levels: the last of every n of a unit.
class Thinner final : public Combiner {
 public:
  Thinner(const StreamFormat& format, uint32_t periods)
      : periods_(periods), keys_(format), seen_(kMaxKeys + 1) {}

  void Add(const std::byte* record, uint32_t bytes, Outlet& out, uint64_t now_ns) override {
    uint32_t& seen = seen_[keys_.Find(record, bytes)];
    if (++seen < periods_) return;
    seen = 0;
    out.Append(record, bytes, 1, now_ns);
  }
  void Flush(Outlet&, uint64_t) override {}

 private:
  const uint32_t periods_;
  Keys keys_;
  std::vector<uint32_t> seen_;  // the last one for units beyond kMaxKeys
};

// Counts of a period: added per unit, all units emitted together with the last stamp.
class Summer final : public Combiner {
 public:
  Summer(const StreamFormat& format, uint32_t periods)
      : periods_(periods),
        record_bytes_(format.record_bytes),
        one_stamp_(format::CountsFromStart(format.stamp)),
        stamp_(format, 0),
        keys_(format),
        sums_(kMaxKeys * size_t{format.record_bytes}),
        in_period_(kMaxKeys),
        in_group_(kMaxKeys) {}

  void Add(const std::byte* record, uint32_t bytes, Outlet& out, uint64_t now_ns) override {
    const size_t key = keys_.Find(record, bytes);
    if (key == kMaxKeys) return out.Append(record, bytes, 1, now_ns);
    const uint64_t stamp = stamp_.Read(record, bytes);
    // Kinds that count from the channel's start stamp a period once; cores stamp every record for itself,
    // there a period begins when a core comes again.
    if (begun_ == 0 || (one_stamp_ ? stamp != last_stamp_ : in_period_[key] != 0)) {
      if (begun_ == periods_) Flush(out, now_ns);
      ++begun_;
      std::fill_n(in_period_.begin(), keys_.size(), uint8_t{0});
    }
    last_stamp_ = stamp;
    in_period_[key] = 1;
    std::byte* sum = &sums_[key * record_bytes_];
    if (in_group_[key] == 0) {
      in_group_[key] = 1;
      std::memcpy(sum, record, record_bytes_);
    } else {
      AddCounts(sum, record);
      stamp_.Write(sum, stamp);
    }
  }

  void Flush(Outlet& out, uint64_t now_ns) override {
    for (size_t key = 0; key < keys_.size(); ++key) {
      if (in_group_[key] == 0) continue;
      in_group_[key] = 0;
      std::byte* sum = &sums_[key * record_bytes_];
      if (one_stamp_) stamp_.Write(sum, last_stamp_);
      out.Append(sum, record_bytes_, 1, now_ns);
    }
    begun_ = 0;
  }

 private:
  void AddCounts(std::byte* sum, const std::byte* record) const {
    const format::Units& layout = keys_.units();
    for (uint32_t i = 0; i < layout.counts; ++i) {
      const uint32_t at = layout.counts_at + i * layout.count_bytes;
      if (layout.count_bytes == sizeof(uint64_t)) {
        Store(sum + at, Load<uint64_t>(sum + at) + Load<uint64_t>(record + at));
      } else {
        const uint64_t both = uint64_t{Load<uint32_t>(sum + at)} + Load<uint32_t>(record + at);
        Store(sum + at,
              static_cast<uint32_t>(std::min<uint64_t>(both, std::numeric_limits<uint32_t>::max())));
      }
    }
  }

  const uint32_t periods_;
  const uint32_t record_bytes_;
  const bool one_stamp_;
  const StampField stamp_;
  Keys keys_;
  std::vector<std::byte> sums_;
  std::vector<uint8_t> in_period_;
  std::vector<uint8_t> in_group_;
  uint32_t begun_ = 0;  // periods of the current group
  uint64_t last_stamp_ = 0;
};

// PCIe: smallest min, largest max, mean of the averages of the periods that had a value.
class PcieMerger final : public Combiner {
 public:
  PcieMerger(const StreamFormat& format, uint32_t periods)
      : periods_(periods), keys_(format), units_(kMaxKeys) {}

  void Add(const std::byte* bytes, uint32_t size, Outlet& out, uint64_t now_ns) override {
    const size_t key = keys_.Find(bytes, size);
    if (key == kMaxKeys) return out.Append(bytes, size, 1, now_ns);
    Unit& unit = units_[key];
    const auto record = Load<format::PcieRecord>(bytes);
    unit.time_ns = record.time_ns;
    unit.device = record.device;
    for (uint32_t i = 0; i < kTriples; ++i) {
      const auto triple = Load<format::PcieTriple>(bytes + kTriplesAt + i * sizeof(format::PcieTriple));
      if (triple.min == kNoValue) continue;
      Merged& merged = unit.merged[i];
      merged.min = merged.values == 0 ? triple.min : std::min(merged.min, triple.min);
      merged.max = std::max(merged.max, triple.max);
      merged.sum += triple.avg;
      ++merged.values;
    }
    if (++unit.periods == periods_) Emit(unit, out, now_ns);
  }

  void Flush(Outlet& out, uint64_t now_ns) override {
    for (size_t key = 0; key < keys_.size(); ++key) {
      if (units_[key].periods != 0) Emit(units_[key], out, now_ns);
    }
  }

 private:
  static constexpr uint32_t kNoValue = 0xFFFFF;
  static constexpr uint32_t kTriplesAt = offsetof(format::PcieRecord, tx_posted);
  static constexpr uint32_t kTriples = (sizeof(format::PcieRecord) - kTriplesAt) / sizeof(format::PcieTriple);
  struct Merged {
    uint32_t min = 0, max = 0;
    uint64_t sum = 0;
    uint32_t values = 0;
  };
  struct Unit {
    uint64_t time_ns = 0;
    uint32_t device = 0;
    uint32_t periods = 0;
    Merged merged[kTriples];
  };

  static void Emit(Unit& unit, Outlet& out, uint64_t now_ns) {
    std::byte record[sizeof(format::PcieRecord)];
    Store(record + offsetof(format::PcieRecord, time_ns), unit.time_ns);
    Store(record + offsetof(format::PcieRecord, device), unit.device);
    for (uint32_t i = 0; i < kTriples; ++i) {
      const Merged& merged = unit.merged[i];
      format::PcieTriple triple{kNoValue, 0, 0};
      if (merged.values != 0) {
        triple = {merged.min, merged.max, static_cast<uint32_t>(merged.sum / merged.values)};
      }
      Store(record + kTriplesAt + i * sizeof triple, triple);
    }
    out.Append(record, sizeof record, 1, now_ns);
    unit = {};
  }

  const uint32_t periods_;
  Keys keys_;
  std::vector<Unit> units_;
};

}  // namespace

std::unique_ptr<Combiner> MakeCombiner(const StreamFormat& format, uint32_t periods) {
  switch (format.combine) {
    case Combine::kSum:
      if (format::UnitsOf(format).counts == 0) return nullptr;
      return std::make_unique<Summer>(format, periods);
    case Combine::kMinMaxAvg:
      if (format.record_bytes != sizeof(format::PcieRecord)) return nullptr;
      return std::make_unique<PcieMerger>(format, periods);
    case Combine::kThin:
      return std::make_unique<Thinner>(format, periods);
    case Combine::kNone:
      break;
  }
  return nullptr;
}

}  // namespace profd::device
