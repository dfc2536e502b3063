// Where the threads of a process are, for a caller who may look at it: `profctl dump`.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "daemon/host/scouts/thread_stacks.h"

namespace profd::session {

struct ProcessStacks {
  pid_t pid = 0;
  std::string name;  // as the kernel has it
  uint64_t started_wall_ns = 0;
  uint64_t wall_ns = 0;  // when it was looked at
  host::ThreadStacks threads;
};

// Waits for the process, some seconds at most. **Thread:** any but ctl.
base::Result<ProcessStacks> StacksOf(const auth::Caller& caller, pid_t pid);

}  // namespace profd::session
