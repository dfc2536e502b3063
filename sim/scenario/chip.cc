#include "sim/scenario/chip.h"

#include <algorithm>
#include <initializer_list>

namespace profd::sim {
namespace {

struct Range {
  uint32_t first, last;
};

std::vector<uint32_t> Ids(std::initializer_list<Range> ranges, std::initializer_list<uint32_t> except = {}) {
  std::vector<uint32_t> ids;
  for (const Range& range : ranges) {
    for (uint32_t id = range.first; id <= range.last; ++id) {
      if (std::find(except.begin(), except.end(), id) == except.end()) ids.push_back(id);
    }
  }
  return ids;
}

const std::vector<Chip>& Chips() {
  static const std::vector<Chip>& chips = *new std::vector<Chip>{
      {.name = "310",
       .product = "310",
       .id = format::Chip::k310,
       .counter_khz = 19200,
       .aic_mhz = 680,
       .aic_count = 2,
       .aiv_count = 0,
       .first_aiv_core = 2,
       .pmu_events = 8,
       .llc_ids = 4,
       .ddr_unit_bytes = 16,
       .min_period_ms = 1,
       .dvpp_id_column = false,
       .ub_transport = false,
       .bandwidth_scale = 0.04,
       .memory_gib = 8,
       .channels = {4, 6, 7, 10, 43, 44, 130, 131, 142},
       .flushable = {44}},
      {.name = "910",
       .product = "910A",
       .id = format::Chip::k910,
       .counter_khz = 100000,
       .aic_mhz = 800,
       .aic_count = 32,
       .aiv_count = 0,
       .first_aiv_core = 32,
       .pmu_events = 8,
       .llc_ids = 4,
       .ddr_unit_bytes = 32,
       .min_period_ms = 1,
       .dvpp_id_column = true,
       .ub_transport = false,
       .bandwidth_scale = 0.6,
       .memory_gib = 32,
       .channels = Ids({{1, 1}, {3, 4}, {6, 10}, {43, 47}, {129, 142}}),
       .flushable = {44, 45}},
      {.name = "310P",
       .product = "310P3",
       .id = format::Chip::k310P,
       .counter_khz = 38400,
       .aic_mhz = 1150,
       .aic_count = 8,
       .aiv_count = 7,
       .first_aiv_core = 8,
       .pmu_events = 8,
       .llc_ids = 4,
       .ddr_unit_bytes = 32,
       .min_period_ms = 10,
       .dvpp_id_column = false,
       .ub_transport = false,
       .bandwidth_scale = 0.12,
       .memory_gib = 24,
       .channels = Ids({{3, 3}, {7, 8}, {10, 10}, {43, 47}, {130, 131}, {134, 139}, {142, 142}}),
       .flushable = {44, 45}},
      {.name = "910B",
       .product = "910B3",
       .id = format::Chip::k910B,
       .counter_khz = 50000,
       .aic_mhz = 1800,
       .aic_count = 24,
       .aiv_count = 48,
       .first_aiv_core = 25,
       .pmu_events = 8,
       .llc_ids = 2,
       .ddr_unit_bytes = 16,
       .min_period_ms = 10,
       .dvpp_id_column = true,
       .ub_transport = false,
       .bandwidth_scale = 1.0,
       .memory_gib = 64,
       .channels = Ids({{1, 98}, {129, 142}}, {2, 5, 7, 43, 45, 46, 48, 49, 51, 85}),
       .flushable = {44, 50, 53}},
      {.name = "310B",
       .product = "310B1",
       .id = format::Chip::k310B,
       .counter_khz = 48000,
       .aic_mhz = 1250,
       .aic_count = 1,
       .aiv_count = 1,
       .first_aiv_core = 1,
       .pmu_events = 8,
       .llc_ids = 1,
       .ddr_unit_bytes = 16,
       .min_period_ms = 10,
       .dvpp_id_column = true,
       .ub_transport = false,
       .bandwidth_scale = 0.05,
       .memory_gib = 8,
       .channels = {4, 6, 7, 8, 10, 44, 47, 50, 52, 53, 54, 130, 131, 132, 134, 135, 137, 142},
       .flushable = {}},
      {.name = "950",
       .product = "950PR",
       .id = format::Chip::k950,
       .counter_khz = 1000000,
       .aic_mhz = 800,
       .aic_count = 32,
       .aiv_count = 64,
       .first_aiv_core = 36,
       .pmu_events = 10,
       .llc_ids = 4,
       .ddr_unit_bytes = 16,
       .min_period_ms = 10,
       .dvpp_id_column = true,
       .ub_transport = true,
       .bandwidth_scale = 1.6,
       .memory_gib = 128,
       .channels = Ids({{1, 98}, {129, 142}, {146, 149}, {151, 151}}, {2, 5, 7, 43, 45, 46, 48, 49, 51, 85}),
       .flushable = {44, 50, 53}},
  };
  return chips;
}

}  // namespace

const Chip* FindChip(std::string_view name) {
  for (const Chip& chip : Chips()) {
    if (chip.name == name) return &chip;
  }
  return nullptr;
}

const Chip* FindChip(uint32_t number) {
  for (const Chip& chip : Chips()) {
    if (format::NumberOf(chip.id) == number) return &chip;
  }
  return nullptr;
}

}  // namespace profd::sim
