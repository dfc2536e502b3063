// What a client's own profiler is to record, in the words that it reads: lines KEY=VALUE. Sources:
// pytorch/kineto, libkineto/src/AbstractConfig.cpp, Config.cpp; facebookincubator/dynolog,
// cli/src/commands/gputrace.rs; Ascend/msmonitor, dynolog_npu/cli/src/commands/nputrace.rs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "base/status.h"
#include "daemon/fabric/options.h"

namespace profd::fabric {

struct Window {
  std::string path;          // a file of kineto, a folder of the others
  uint64_t duration_ms = 0;  // kineto alone; or
  uint64_t steps = 0;        // of the training loop
  uint64_t warmup_steps = 0;
  std::optional<uint64_t> warmup_s = {};    // kineto alone, before a duration; none: its own 5 s
  std::optional<uint64_t> first_step = {};  // none: the next one
  uint64_t round_up = 1;                    // kineto alone: the first step is a multiple of it
  Options options = {};
};

// A window that this family can do as it is asked for.
base::Status CheckWindow(Family family, const Window& window);
// `id`: of whoever asked, for the trace's own description. The window has been checked.
std::string ConfigText(Family family, const Window& window, const std::string& id);

}  // namespace profd::fabric
