// What prof_drv_start is told per channel: type, period and payload, byte for byte as the vendor's collector
// does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/driver/driver.h"
#include "format/kind.h"

namespace profd::driver {

// A sampling period. Integer division, as the vendor computes it: 30 Hz is 33 ms.
struct Period {
  uint32_t ms = 0;
  uint32_t us = 0;
};
// Current kernels refuse less than 10 ms on peripheral channels, so `ms` is never below that.
Period PeriodOf(double hz);

// Whether what stands behind a mode's name can be counted on a device that has the kind.
base::Status CheckMode(format::Kind kind, std::string_view mode, const DeviceFacts& device);

// Whether the task log of this mode has blocks of tasks.
bool LogsBlocks(std::string_view task_mode);

// Everything that shapes a start. Most channels look at the period alone.
struct StartChoice {
  Period period;
  std::string_view
      mode;  // llc: "read" or "write"; soc-pmu: its events; instr: its cycles; task: what besides
  uint32_t api_version = 0;
  bool host_counter_known = false;  // npu-module-mem: stamps in host counter cycles, else in ns
  // Core samples: which cores. Channel 54 serves both with a period each; 0 = not these.
  uint32_t ai_core_period_ms = 0;
  uint32_t ai_vector_period_ms = 0;
  // Channel 53 likewise, by task.
  bool ai_core_tasks = false;
  bool ai_vector_tasks = false;
  bool by_task = false;                                              // channels 43 and 85
  bool task_blocks = false;                                          // channel 53: blocks of tasks, too
  std::vector<uint32_t> ai_core_events = {}, ai_vector_events = {};  // empty = the chip's usual ones
  std::vector<QosStream> streams = {};                               // qos, and soc-profile of a 950
  // soc-profile: which families of units.
  bool soc_memory = false;
  bool soc_links = false;
};
StartPara MakeStartPara(uint32_t channel, const DeviceFacts& device, const StartChoice& choice);

// Samples per second that come of it; 0 of event-driven channels.
double EffectiveHz(uint32_t channel, const DeviceFacts& device, const Period& period,
                   std::string_view mode = {});

}  // namespace profd::driver
