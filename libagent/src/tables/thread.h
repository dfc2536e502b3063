// Threads of the agent's own.
#pragma once

#include <cstddef>

namespace profd::agent {

// A detached thread on which the program's signal handlers never run. `stack_bytes` is tried first, 0 means
// the usual size. False: none could be started. **Thread:** any.
bool StartQuietThread(void* (*run)(void*), size_t stack_bytes);

}  // namespace profd::agent
