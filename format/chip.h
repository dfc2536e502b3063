// Which chips there are: one enum, one table of what sets them apart. Nobody else knows their numbers.
//
// What is asked of a chip that the table does not have gets the usual answer (ChipTraits's defaults): such a
// chip is legal everywhere.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

namespace profd::format {

// Values are the vendor's numbers: bits 8..15 of hardware_version, platform_version of info.json.
// Source: hicann/runtime, src/dfx/msprof/collector/dvvp/profimpl/platform/platform_interface.h.
enum class Chip : uint32_t {
  k310 = 0,
  k910 = 1,
  kMdc = 2,  // these names are the vendor's; profd knows of such chips what the vendor's parser does
  kLhisi = 3,
  k310P = 4,
  k910B = 5,  // A2 and A3
  k310B = 7,
  kTiny = 8,
  kMdcMini = 11,
  k950 = 15,
  k910_96 = 16,
  kMdcV2 = 17,
  kMdcLiteV2 = 18,
  kNotTold = 0xFF,        // the driver would not say
  kUnknown = UINT32_MAX,  // no file says
};
constexpr uint32_t NumberOf(Chip chip) { return static_cast<uint32_t>(chip); }

// A sum of counters, made of some events and less others.
struct EventSum {
  std::span<const uint16_t> plus = {}, minus = {};
};
// How hits of the L2 cache show in its counters. Source: the analyser's msconfig/l2_cache_config.py.
struct CacheRates {
  EventSum requests, hits, victims;
};

namespace chip_events {
// What the vendor counts to tell hits of the cache. Source: the platform tables of the vendor's collector
// (hicann/runtime, profimpl/platform).
inline constexpr uint16_t kL2Of910[] = {0x5b, 0x59, 0x5c, 0x7d, 0x7e, 0x71, 0x79, 0x7c};
inline constexpr uint16_t kL2Of310P[] = {0x78, 0x79, 0x77, 0x71, 0x6a, 0x6c, 0x74, 0x62};
inline constexpr uint16_t kL2OfB[] = {0xf6, 0xfb, 0xfc, 0xbf, 0x90, 0x91, 0x9c, 0x9d};  // 910B, 310B
inline constexpr uint16_t kL2Of950[] = {0x00, 0x81, 0x82, 0x83, 0x74, 0x75};
inline constexpr uint16_t kL2Of910_96[] = {0x00, 0x88, 0x89, 0x8a, 0x74, 0x75, 0x97};
// Parts of them.
inline constexpr uint16_t k59[] = {0x59}, k5b[] = {0x5b}, k5c[] = {0x5c};
inline constexpr uint16_t k78[] = {0x78, 0x79}, k6a[] = {0x6a}, k71[] = {0x71};
inline constexpr uint16_t k00[] = {0x00}, k81[] = {0x81, 0x82, 0x83, 0x74, 0x75}, k74[] = {0x74, 0x75};
inline constexpr uint16_t kFb[] = {0xfb, 0xfc}, k90[] = {0x90, 0x91}, k9c[] = {0x9c};
inline constexpr CacheRates kRatesOf910 = {{k59}, {k5b}, {k5c}};
inline constexpr CacheRates kRatesOf310P = {{k78}, {k6a}, {k71}};
inline constexpr CacheRates kRatesOf950 = {{k00}, {k00, k81}, {k74}};
inline constexpr CacheRates kUsualRates = {{kFb}, {k90}, {k9c}};
}  // namespace chip_events

inline constexpr uint8_t kNoVectorCores = UINT8_MAX;

struct ChipTraits {
  Chip chip = Chip::kUnknown;
  Chip family = Chip::kUnknown;      // whose files and options it has
  std::string_view name = {};        // "910B"; "" = profd knows it by its number only
  std::string_view other_name = {};  // of products of two dies, where the driver names these otherwise
  std::string_view db_name = {};     // as the vendor's database has it
  double counter_mhz = 0;            // where the driver did not measure it; 0 = not known
  double aic_mhz = 0;
  bool stars = true;  // its task scheduler is of the newer sort
  // The vendor makes its timeline and tables with the newer of its exporters, the one in C++.
  bool newer_exporter = false;
  uint8_t core_events = 8;  // counters of one core
  // Where one file has samples of cores of both kinds: the last AI core; behind it are vector cores.
  uint8_t last_ai_core = kNoVectorCores;
  uint8_t vendor_caches = 4;      // slices of the last-level cache that the vendor's parser looks at
  uint8_t ddr_count_bytes = 16;   // unit of counts in DDR records
  bool dvpp_id = false;           // DVPP's text has a column dvpp_id
  bool small_ts_cpu = false;      // short records of the task scheduler's CPU
  bool fine_soc_profile = false;  // channel 52 counts its periods in µs and takes the QoS streams
  bool noc_events = false;        // channel 134 counts for the network on the chip
  bool page_fault_register = false;
  bool dies_in_pairs = false;                // two devices are one NPU, as with `other_name`
  std::span<const uint16_t> l2_events = {};  // empty: not known
  const CacheRates* l2_rates = &chip_events::kUsualRates;

  constexpr bool has_both_cores() const { return last_ai_core != kNoVectorCores; }
  // Tables of tasks have what AI cores counted (aic_…) beside what vector cores did (aiv_…); else one set of
  // columns for whichever ran.
  constexpr bool tells_cores_apart() const { return newer_exporter && has_both_cores(); }
};

// Clocks are the vendor's, for chips whose driver does not say.
inline constexpr ChipTraits kChips[] = {
    {.chip = Chip::k310,
     .family = Chip::k310,
     .name = "310",
     .db_name = "Ascend310",
     .counter_mhz = 19.2,
     .aic_mhz = 680,
     .stars = false},
    {.chip = Chip::k910,
     .family = Chip::k910,
     .name = "910",
     .db_name = "Ascend910A",
     .counter_mhz = 100,
     .aic_mhz = 800,
     .stars = false,
     .ddr_count_bytes = 32,
     .dvpp_id = true,
     .l2_events = chip_events::kL2Of910,
     .l2_rates = &chip_events::kRatesOf910},
    {.chip = Chip::kMdc,
     .family = Chip::k310P,
     .stars = false,
     .ddr_count_bytes = 32,
     .small_ts_cpu = true,
     .l2_rates = &chip_events::kRatesOf310P},
    {.chip = Chip::kLhisi,
     .family = Chip::k310P,
     .stars = false,
     .ddr_count_bytes = 32,
     .small_ts_cpu = true,
     .l2_rates = &chip_events::kRatesOf310P},
    {.chip = Chip::k310P,
     .family = Chip::k310P,
     .name = "310P",
     .db_name = "Ascend310P",
     .counter_mhz = 38.4,
     .aic_mhz = 1150,
     .stars = false,
     .ddr_count_bytes = 32,
     .l2_events = chip_events::kL2Of310P,
     .l2_rates = &chip_events::kRatesOf310P},
    {.chip = Chip::k910B,
     .family = Chip::k910B,
     .name = "910B",
     .other_name = "910_93",
     .db_name = "Ascend910B",
     .counter_mhz = 50,
     .aic_mhz = 800,
     .newer_exporter = true,
     .last_ai_core = 24,
     .vendor_caches = 2,
     .dvpp_id = true,
     .page_fault_register = true,
     .l2_events = chip_events::kL2OfB},
    {.chip = Chip::k310B,
     .family = Chip::k310B,
     .name = "310B",
     .db_name = "Ascend310B",
     .counter_mhz = 48,
     .aic_mhz = 1250,
     .last_ai_core = 0,
     .vendor_caches = 1,
     .dvpp_id = true,
     .l2_events = chip_events::kL2OfB},
    {.chip = Chip::kTiny, .family = Chip::k310B, .last_ai_core = 0, .vendor_caches = 1, .dvpp_id = true},
    {.chip = Chip::kMdcMini, .family = Chip::k310B, .last_ai_core = 0, .vendor_caches = 1, .dvpp_id = true},
    {.chip = Chip::k950,
     .family = Chip::k950,
     .name = "950",
     .db_name = "Ascend950",
     .counter_mhz = 1000,
     .aic_mhz = 800,
     .newer_exporter = true,
     .core_events = 10,
     .last_ai_core = 35,
     .dvpp_id = true,
     .fine_soc_profile = true,
     .noc_events = true,
     .page_fault_register = true,
     .dies_in_pairs = true,
     .l2_events = chip_events::kL2Of950,
     .l2_rates = &chip_events::kRatesOf950},
    {.chip = Chip::k910_96,
     .family = Chip::k950,
     .name = "910_96",
     .counter_mhz = 1000,
     .aic_mhz = 1650,
     .newer_exporter = true,
     .core_events = 10,
     .last_ai_core = 35,
     .dvpp_id = true,
     .fine_soc_profile = true,
     .noc_events = true,
     .dies_in_pairs = true,
     .l2_events = chip_events::kL2Of910_96,
     .l2_rates = &chip_events::kRatesOf950},
    {.chip = Chip::kMdcV2, .family = Chip::kMdcV2, .core_events = 10},
    {.chip = Chip::kMdcLiteV2, .family = Chip::kMdcV2, .core_events = 10},
};

// Of a chip that the table does not have: the usual ones, without a name or clocks.
const ChipTraits& TraitsOf(Chip chip);

// "910B", "chip 23", "chip of unknown type".
std::string ChipName(Chip chip);
// "Ascend910B"; "UNKNOWN" for a chip that the vendor's database has no name for.
std::string_view DbChipName(Chip chip);
// By what the driver calls it: "910B3", "Ascend310P3". kUnknown for none of these.
Chip ChipOfName(std::string_view product);

// Chips, those without a row as one more.
struct ChipSet {
  uint32_t bits = 0;

  constexpr bool Has(Chip chip) const { return (bits & BitOf(chip)) != 0; }
  constexpr bool empty() const { return bits == 0; }
  constexpr ChipSet operator|(ChipSet other) const { return {bits | other.bits}; }
  constexpr ChipSet operator&(ChipSet other) const { return {bits & other.bits}; }
  constexpr ChipSet operator~() const { return {~bits}; }
  constexpr bool operator==(const ChipSet&) const = default;

  static constexpr uint32_t BitOf(Chip chip) {
    constexpr uint32_t kBits = 32;
    return uint32_t{1} << (NumberOf(chip) < kBits ? NumberOf(chip) : kBits - 1);
  }
};
inline constexpr ChipSet kEveryChip = {~uint32_t{0}};

constexpr ChipSet Only(std::initializer_list<Chip> chips) {
  ChipSet set;
  for (const Chip chip : chips) set.bits |= ChipSet::BitOf(chip);
  return set;
}
// Those whose traits say so, of the table. `what`: (const ChipTraits&) → bool.
template <typename What>
constexpr ChipSet ChipsWith(What what) {
  ChipSet set;
  for (const ChipTraits& traits : kChips) {
    if (what(traits)) set.bits |= ChipSet::BitOf(traits.chip);
  }
  return set;
}
// All of these chips' families.
constexpr ChipSet Families(std::initializer_list<Chip> chips) {
  const ChipSet named = Only(chips);
  return ChipsWith([named](const ChipTraits& traits) { return named.Has(traits.family); });
}
inline constexpr ChipSet kNamedChips =
    ChipsWith([](const ChipTraits& traits) { return !traits.name.empty(); });

constexpr bool Is950(Chip chip) { return Families({Chip::k950}).Has(chip); }

}  // namespace profd::format
