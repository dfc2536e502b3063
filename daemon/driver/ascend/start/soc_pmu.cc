#include "daemon/driver/ascend/start/soc_pmu.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>

#include "base/join.h"
#include "daemon/driver/ascend/start/channels.h"
#include "format/records/packed.h"

namespace profd::driver {

namespace {

using base::Code;
using base::Status;

// Source: the platform tables of the vendor's collector (hicann/runtime, profimpl/platform).
constexpr uint16_t kTranslations[] = {0x2, 0x8a, 0x8b, 0x8c, 0x8d};

// A register of the translation (page faults) that newer drivers read beside hits, and which of its bits.
// Source: cloud_v2_platform.cpp, david_platform.cpp there; the 910_96 has none.
constexpr uint32_t kTranslationRegister = 0x0e78, kTranslationBits = 0x3fffffff;

constexpr size_t kTlvBytes = 4;    // u16 type, u16 length
constexpr uint16_t kHeadType = 0;  // whose length is that of all

struct Unit {
  SocUnit unit;
  std::string_view name;
  size_t slots;
  uint16_t most;
};
constexpr Unit kUnits[] = {
    {SocUnit::kHa, "HA", 8, 0xff},         {SocUnit::kHa, "MATA", 8, 0xff},
    {SocUnit::kSmmu, "SMMU", 8, 0x808},    {SocUnit::kNoc, "NOC", 4, 0x3f},
    {SocUnit::kSmmuDfx, "SMMU_DFX", 0, 0},
};
const Unit& UnitOf(SocUnit unit) {
  return *std::find_if(std::begin(kUnits), std::end(kUnits),
                       [unit](const Unit& known) { return known.unit == unit; });
}

bool HasNoc(Chip chip) { return format::TraitsOf(chip).noc_events; }

std::string Hex(uint32_t number, int digits = 1) {
  char text[16];
  std::snprintf(text, sizeof text, "0x%0*x", digits, number);
  return text;
}

// The analyser looks events up by their text: those of the cache have two digits at least ("0x00"), those of
// the translation as many as they need ("0x2").
std::string Listed(std::span<const uint16_t> events, int digits) {
  return base::Joined(events, ",", [digits](uint16_t event) { return Hex(event, digits); });
}
int DigitsOf(SocUnit unit) { return unit == SocUnit::kHa ? 2 : 1; }

// One "HA:0x2,0x3".
std::optional<SocEvents> GroupOf(std::string_view text, Chip chip) {
  const size_t colon = std::min(text.find(':'), text.size());
  const auto* unit = std::find_if(std::begin(kUnits), std::end(kUnits),
                                  [&](const Unit& known) { return known.name == text.substr(0, colon); });
  if (unit == std::end(kUnits) || unit->slots == 0 || (unit->unit == SocUnit::kNoc && !HasNoc(chip)))
    return std::nullopt;
  SocEvents group{unit->unit, {}};
  for (size_t at = colon + 1; at <= text.size();) {
    const size_t comma = std::min(text.find(',', at), text.size());
    std::string_view number = text.substr(at, comma - at);
    at = comma + 1;
    if (!number.starts_with("0x") && !number.starts_with("0X")) return std::nullopt;
    number.remove_prefix(2);
    uint16_t event = 0;
    const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), event, 16);
    if (error != std::errc() || end != number.data() + number.size() || event > unit->most) {
      return std::nullopt;
    }
    group.events.push_back(event);
  }
  if (group.events.empty() || group.events.size() > unit->slots) return std::nullopt;
  return group;
}

std::string Expected(Chip chip) {
  std::string text = "a " + ChipName(chip) + " counts ";
  for (const Unit& unit : kUnits) {
    if (unit.name == "MATA" || unit.slots == 0 || (unit.unit == SocUnit::kNoc && !HasNoc(chip))) continue;
    if (!text.ends_with(' ')) text += ", ";
    text += unit.unit == SocUnit::kHa ? "HA (or MATA)" : unit.name;
    text += ": 1 to " + std::to_string(unit.slots) + " events from 0x0 to " + Hex(unit.most);
  }
  return text + "; each unit once, e.g. HA:0x2,0x3;SMMU:0x10";
}

void Put(StartPara& para, auto value) {
  std::memcpy(para.user_data.data() + para.user_data_size, &value, sizeof value);
  para.user_data_size += sizeof value;
}

SocPmu GroupsOf(const StartPara& para) {
  SocPmu groups;
  const std::byte* const bytes = para.user_data.data();
  for (size_t at = kTlvBytes; at + kTlvBytes <= para.user_data_size;) {
    const auto type = format::Load<uint16_t>(bytes + at);
    const auto length = format::Load<uint16_t>(bytes + at + sizeof type);
    const std::byte* const body = bytes + at + kTlvBytes;
    SocEvents group{static_cast<SocUnit>(type), {}};
    const uint32_t events = group.unit == SocUnit::kSmmuDfx ? 0 : format::Load<uint32_t>(body);
    for (uint32_t i = 0; i < events; ++i) {
      group.events.push_back(format::Load<uint16_t>(body + sizeof(uint32_t) + i * sizeof(uint16_t)));
    }
    groups.push_back(std::move(group));
    at += kTlvBytes + length;
  }
  return groups;
}

}  // namespace

std::span<const uint16_t> L2CacheEvents(Chip chip) { return format::TraitsOf(chip).l2_events; }

std::string L2CacheText(std::span<const uint16_t> events) { return Listed(events, DigitsOf(SocUnit::kHa)); }

base::Result<SocPmu> SocPmuOf(std::string_view mode, Chip chip) {
  if (mode == kHitRates) {
    const std::span<const uint16_t> cache = L2CacheEvents(chip);
    return SocPmu{{SocUnit::kHa, {cache.begin(), cache.end()}},
                  {SocUnit::kSmmu, {std::begin(kTranslations), std::end(kTranslations)}}};
  }
  SocPmu groups;
  for (size_t at = 0; at <= mode.size();) {
    const size_t end = std::min(mode.find(';', at), mode.size());
    std::optional<SocEvents> group = GroupOf(mode.substr(at, end - at), chip);
    at = end + 1;
    const bool again = group && std::ranges::any_of(groups, [&](const SocEvents& earlier) {
                         return earlier.unit == group->unit;
                       });
    if (!group || again) {
      return Status(Code::kInvalidArgument, "'" + std::string(mode) + "': " + Expected(chip));
    }
    groups.push_back(std::move(*group));
  }
  return groups;
}

SocPmu SocPmuOfStart(std::string_view mode, Chip chip, uint32_t api_version) {
  SocPmu groups = SocPmuOf(mode, chip).value();
  const bool has_register = format::TraitsOf(chip).page_fault_register;
  if (mode == kHitRates && has_register && api_version >= kApiTranslationRegisters)
    groups.push_back({SocUnit::kSmmuDfx, {}});
  return groups;
}

void PutSocPmu(StartPara& para, const SocPmu& groups) {
  const uint32_t begin = para.user_data_size;
  Put(para, kHeadType);
  Put(para, uint16_t{0});  // the length, below
  for (const SocEvents& group : groups) {
    if (group.unit == SocUnit::kSmmuDfx) {
      Put(para, static_cast<uint16_t>(group.unit));
      Put(para, static_cast<uint16_t>(3 * sizeof(uint32_t)));
      for (const uint32_t word : {uint32_t{1}, kTranslationRegister, kTranslationBits}) Put(para, word);
      continue;
    }
    const size_t slots = UnitOf(group.unit).slots;
    Put(para, static_cast<uint16_t>(group.unit));
    Put(para, static_cast<uint16_t>(sizeof(uint32_t) + slots * sizeof(uint16_t)));
    Put(para, static_cast<uint32_t>(group.events.size()));
    for (size_t i = 0; i < slots; ++i) Put(para, i < group.events.size() ? group.events[i] : uint16_t{0});
  }
  const auto length = static_cast<uint16_t>(para.user_data_size - begin);
  std::memcpy(para.user_data.data() + begin + sizeof kHeadType, &length, sizeof length);
}

std::string SocPmuText(const StartPara& para) {
  std::string text;
  for (const SocEvents& group : GroupsOf(para)) {
    text += (text.empty() ? "" : ";") + std::string(UnitOf(group.unit).name) + ":" +
            Listed(group.events, DigitsOf(group.unit));
  }
  return text;
}

std::string SocHaText(const StartPara& para) {
  for (const SocEvents& group : GroupsOf(para)) {
    if (group.unit == SocUnit::kHa) return L2CacheText(group.events);
  }
  return {};
}

}  // namespace profd::driver
