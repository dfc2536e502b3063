// Where every thread of a process is right now: what called what in the program, and Python's functions.
// Nothing is stopped: a thread that waits stays where it is while it is looked at, of one that runs the
// kernel takes a sample.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace profd::host {

struct ThreadPlace {
  pid_t tid = 0;
  std::string name;
  char state = '?';      // as the kernel has it: R, S, D, T
  std::string waits_in;  // the kernel's function; "" where it runs, or nobody may know
  std::string why;       // it has no stack; "" where it has
};

// `names`, `samples`: as of host-cpu-profile (docs/formats.md), a sample a thread. What they say has been
// read by a process that may have become another's: nothing of it is to be believed.
struct ThreadStacks {
  std::string names, samples;
  std::vector<ThreadPlace> threads;  // by tid
  size_t left_out = 0;               // threads beyond what is looked at
};

// Asks a stand-in: waits for it, two seconds at most. **Thread:** any but ctl and those of data.
base::Result<ThreadStacks> ReadThreadStacks(pid_t pid, std::string_view name);

}  // namespace profd::host
