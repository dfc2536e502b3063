// Which events the counters of AI cores and vector cores count: the vendor's groups, or events by their
// numbers.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "format/chip.h"

namespace profd::driver {

using format::Chip;

enum class CoreType : uint8_t { kAiCore, kVectorCore };

// The mode of core kinds that names counters by their numbers.
inline constexpr std::string_view kCustomMode = "Custom:";
// The groups that chips have, as modes; the first is counted where none is named.
inline constexpr std::string_view kCoreModes[] = {
    "PipeUtilization", "ArithmeticUtilization", "Memory",   "MemoryL0",
    "MemoryUB",        "ResourceConflictRatio", kCustomMode};
inline constexpr std::string_view kCoreModes310B[] = {"PipelineExecuteUtilization",
                                                      "PipeUtilization",
                                                      "ArithmeticUtilization",
                                                      "Memory",
                                                      "MemoryL0",
                                                      "MemoryUB",
                                                      "ResourceConflictRatio",
                                                      "L2Cache",
                                                      kCustomMode};
inline constexpr std::string_view kCoreModes910B[] = {
    "PipeUtilization", "ArithmeticUtilization", "Memory",   "MemoryL0", "MemoryUB", "ResourceConflictRatio",
    "L2Cache",         "MemoryAccess",          kCustomMode};
inline constexpr std::string_view kCoreModes950[] = {
    "PipeUtilization", "ArithmeticUtilization", "Memory",  "MemoryL0",
    "MemoryUB",        "ResourceConflictRatio", "L2Cache", kCustomMode};
inline constexpr std::string_view kCoreModesOfOthers[] = {"PipeUtilization", kCustomMode};

// "Custom:0x8,10": as many as a core of the chip has counters, numbers that its start can carry.
base::Result<std::vector<uint32_t>> CustomEvents(std::string_view mode, Chip chip);

// Of a mode that the chip has; none: of its first.
std::vector<uint32_t> CoreEvents(std::string_view mode, Chip chip, CoreType type,
                                 bool main_memory_anew = false);
// The vendor's name of what counts these, "0x8,0xa": a group, or the events by their numbers.
std::string CoreMetricName(const std::string& events, Chip chip, CoreType type);

}  // namespace profd::driver
