// What a chip of one kind is: numbers that the simulated driver and the load model share.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "format/chip.h"

namespace profd::sim {

struct Chip {
  std::string_view name;     // as in the configuration: 310 910 310P 910B 310B 950
  std::string_view product;  // as halGetChipInfo says it
  format::Chip id;           // its number is in bits 8..15 of hardware_version
  uint32_t counter_khz;
  uint32_t aic_mhz;
  uint32_t aic_count;
  uint32_t aiv_count;
  uint32_t first_aiv_core;  // core number of the first vector core in counter records
  uint32_t pmu_events;      // 8, or 10 on the 950 class
  uint32_t llc_ids;
  uint32_t ddr_unit_bytes;
  uint32_t min_period_ms;  // of periodic channels
  bool dvpp_id_column;
  bool ub_transport;                // the device checks for room in the host's ring instead of overwriting it
  double bandwidth_scale;           // of every flow of the load model, 910B = 1
  uint32_t memory_gib;              // HBM, or DDR where there is none
  std::vector<uint32_t> channels;   // ascending, without those that processes register
  std::vector<uint32_t> flushable;  // halProfDataFlush is supported

  bool is_950() const { return pmu_events == 10; }
};

// nullptr: no such chip.
const Chip* FindChip(std::string_view name);
const Chip* FindChip(uint32_t number);  // as bits 8..15 of hardware_version have it

}  // namespace profd::sim
