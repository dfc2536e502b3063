#include "daemon/driver/ascend/start/core_metrics.h"

#include <algorithm>
#include <charconv>
#include <cstdio>

#include "daemon/driver/ascend/start/channels.h"
#include "daemon/driver/starts.h"

namespace profd::driver {

namespace {

using base::Code;
using base::Status;
using format::Is950;

struct Group {
  std::string_view name;
  std::span<const uint16_t> events;
};

// Source: the platform tables of the vendor's collector (hicann/runtime, profimpl/platform).
constexpr std::string_view kPipes = "PipeUtilization", kExactPipes = "PipeUtilizationExct";
constexpr std::string_view kExecutionMode = "PipelineExecuteUtilization";
constexpr std::string_view kMemoryMode = "Memory";
constexpr uint16_t kPipeEvents[] = {0x8, 0xa, 0x9, 0xb, 0xc, 0xd, 0x54, 0x55};
constexpr uint16_t kExactPipeEvents[] = {0x416, 0x417, 0x9, 0x302, 0xc, 0x303, 0x54, 0x55};
constexpr uint16_t kExecution[] = {0x12c, 0x49, 0x4a, 0x9, 0x302, 0xc, 0xd, 0x303};
constexpr uint16_t kArithmetic[] = {0x49, 0x4a, 0x4b, 0x4c, 0x4d, 0x4e, 0x4f};
constexpr uint16_t kMemory[] = {0x15, 0x16, 0x31, 0x32, 0xf, 0x10, 0x12, 0x13};
constexpr uint16_t kMemoryL0[] = {0x1b, 0x1c, 0x21, 0x22, 0x27, 0x28, 0x29, 0x2a};
constexpr uint16_t kMemoryUb[] = {0x10, 0x13, 0x37, 0x38, 0x3d, 0x3e, 0x43, 0x44};
constexpr uint16_t kMemoryUb310B[] = {0x37, 0x38, 0x1a5, 0x1a6, 0x17f, 0x180, 0x191};
constexpr uint16_t kConflicts[] = {0x64, 0x65, 0x66};
constexpr uint16_t kL2[] = {0x500, 0x502, 0x504, 0x506, 0x508, 0x50a};
constexpr uint16_t kAccess[] = {0x32, 0x3d, 0x3e, 0x206, 0x20c, 0x50c, 0x50d, 0x50e};
constexpr Group kGroups[] = {
    {kPipes, kPipeEvents},   {kExecutionMode, kExecution},
    {kMemoryMode, kMemory},  {"ArithmeticUtilization", kArithmetic},
    {"MemoryL0", kMemoryL0}, {"ResourceConflictRatio", kConflicts},
    {"MemoryUB", kMemoryUb}, {"MemoryAccess", kAccess},
    {"L2Cache", kL2},
};

constexpr uint16_t kPipes950[] = {0x501, 0x301, 0x1, 0x701, 0x202, 0x203, 0x34, 0x35, 0x714};
constexpr uint16_t kArithmetic950[] = {0x323, 0x324};
constexpr uint16_t kMemory950[] = {0x400, 0x401, 0x56f, 0x571, 0x570, 0x572, 0x707, 0x709};
constexpr uint16_t kMemory950Anew[] = {0x422, 0x423, 0x56f, 0x571, 0x570, 0x572, 0x707, 0x709};
constexpr uint16_t kMemoryL0Of950[] = {0x304, 0x703, 0x306, 0x705, 0x712, 0x30a, 0x308};
constexpr uint16_t kMemoryUb950[] = {0x3, 0x5, 0x70c, 0x206, 0x204, 0x571, 0x572};
constexpr uint16_t kConflicts950[] = {0x540, 0x556, 0x502, 0x528};
constexpr uint16_t kL2Of950[] = {0x424, 0x425, 0x426, 0x42a, 0x42b, 0x42c};
constexpr Group kGroups950[] = {
    {kPipes, kPipes950},        {"ArithmeticUtilization", kArithmetic950},
    {kMemoryMode, kMemory950},  {"MemoryL0", kMemoryL0Of950},
    {"MemoryUB", kMemoryUb950}, {"ResourceConflictRatio", kConflicts950},
    {"L2Cache", kL2Of950},
};

std::span<const Group> GroupsOf(Chip chip) {
  return Is950(chip) ? std::span<const Group>(kGroups950) : std::span<const Group>(kGroups);
}

// Counted where none is named.
std::string_view PresetOf(Chip chip) { return chip == Chip::k310B ? kExecutionMode : kPipes; }

// What a group is on a chip: some differ by chip and core.
Group OnChip(const Group& group, Chip chip, CoreType type) {
  const bool exact = chip == Chip::k910B && type == CoreType::kAiCore && group.name == kPipes;
  if (exact) return {kExactPipes, kExactPipeEvents};
  if (chip == Chip::k310B && group.name == "MemoryUB") return {group.name, kMemoryUb310B};
  return group;
}

std::string Listed(std::span<const uint16_t> events) {
  std::string text;
  for (const uint16_t event : events) {
    char item[16];
    std::snprintf(item, sizeof item, "%s0x%x", text.empty() ? "" : ",", event);
    text += item;
  }
  return text;
}

}  // namespace

base::Result<std::vector<uint32_t>> CustomEvents(std::string_view mode, Chip chip) {
  // 16 bits in the start of STARS chips, 32 before, of which the vendor uses 31.
  const bool wide = !format::TraitsOf(chip).stars;
  const uint32_t most = wide ? 0x7fffffff : 0xffff;
  const size_t slots = format::TraitsOf(chip).core_events;
  std::vector<uint32_t> events;
  bool right = mode.size() > kCustomMode.size();
  for (size_t at = kCustomMode.size(); right && at <= mode.size();) {
    const size_t comma = std::min(mode.find(',', at), mode.size());
    std::string_view text = mode.substr(at, comma - at);
    const bool hex = text.starts_with("0x") || text.starts_with("0X");
    if (hex) text.remove_prefix(2);
    uint32_t event = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), event, hex ? 16 : 10);
    right = error == std::errc() && end == text.data() + text.size() && event >= 1 && event <= most;
    events.push_back(event);
    at = comma + 1;
  }
  if (right && events.size() <= slots) return events;
  return Status(Code::kInvalidArgument, "'" + std::string(mode) + "': a " + ChipName(chip) + " counts 1 to " +
                                            std::to_string(slots) + " events, each a number from 1 to " +
                                            std::to_string(most));
}

bool CountsMainMemoryAnew(std::string_view cann_version) {
  // hicann/runtime fd687e4b5 of 2026-08-18, which 9.2.0-beta.1 does not have yet.
  if (cann_version.starts_with("9.2.0-beta.1")) return false;
  uint32_t numbers[2] = {};
  const char* at = cann_version.data();
  const char* const end = at + cann_version.size();
  for (uint32_t& number : numbers) {
    const auto [next, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return false;
    at = next == end ? end : next + 1;
  }
  return numbers[0] > 9 || (numbers[0] == 9 && numbers[1] >= 2);
}

std::vector<uint32_t> CoreEvents(std::string_view mode, Chip chip, CoreType type, bool main_memory_anew) {
  if (mode.starts_with(kCustomMode)) return CustomEvents(mode, chip).value();
  if (main_memory_anew && Is950(chip) && mode == kMemoryMode)
    return {std::begin(kMemory950Anew), std::end(kMemory950Anew)};
  const std::span<const Group> groups = GroupsOf(chip);
  const auto named = std::ranges::find(groups, mode.empty() ? PresetOf(chip) : mode, &Group::name);
  const Group group = OnChip(named == groups.end() ? groups.front() : *named, chip, type);
  return {group.events.begin(), group.events.end()};
}

std::string CoreMetricName(const std::string& events, Chip chip, CoreType type) {
  if (Is950(chip) && events == Listed(kMemory950Anew)) return std::string(kMemoryMode);
  for (const Group& group : GroupsOf(chip)) {
    const Group here = OnChip(group, chip, type);
    if (events.empty() ? group.name == PresetOf(chip) : Listed(here.events) == events)
      return std::string(here.name);
  }
  return std::string(kCustomMode) + events;
}

}  // namespace profd::driver
