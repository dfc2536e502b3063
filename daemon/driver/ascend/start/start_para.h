// What prof_drv_start is told per channel: type, period and payload, byte for byte as the vendor's collector
// does.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "daemon/driver/driver.h"
#include "daemon/driver/starts.h"

namespace profd::driver {

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

}  // namespace profd::driver
