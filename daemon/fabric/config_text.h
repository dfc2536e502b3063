// What a client's own profiler is to record, in the words that it reads: lines KEY=VALUE. Sources:
// pytorch/kineto, libkineto/src/AbstractConfig.cpp, Config.cpp; facebookincubator/dynolog,
// cli/src/commands/gputrace.rs; Ascend/msmonitor, dynolog_npu/cli/src/commands/nputrace.rs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"

namespace profd::fabric {

enum class Family : uint8_t {
  kKineto,   // PyTorch's profiler, on any device
  kMonitor,  // msMonitor's: torch_npu and MindSpore
};
const char* FamilyName(Family family);  // "kineto", "msmonitor"

struct Window {
  std::string path;          // a file of kineto, a folder of the others
  uint64_t duration_ms = 0;  // kineto alone; or
  uint64_t steps = 0;        // of the training loop
  uint64_t warmup_steps = 0;
  std::optional<uint64_t> warmup_s = {};    // kineto alone, before a duration; none: its own 5 s
  std::optional<uint64_t> first_step = {};  // none: the next one
  std::string level = "Level1";             // of the device's profiler, and below: kMonitor alone
  std::string aic_metrics = "PipeUtilization";
};

// A window that this family can do as it is asked for.
base::Status CheckWindow(Family family, const Window& window);
// `id`: of whoever asked, for the trace's own description. The window has been checked.
std::string ConfigText(Family family, const Window& window, const std::string& id);

}  // namespace profd::fabric
