// Processes by the pids that their container has for them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace profd::client {

// This node's pids of the processes `inside` of the container whose id begins with `container`, in that
// order. `proc` is where the kernel shows processes. kNotFound names what is not there; kInvalidArgument:
// several containers.
base::Result<std::vector<int32_t>> PidsOfContainer(const std::string& proc, const std::string& container,
                                                   const std::vector<int32_t>& inside);

}  // namespace profd::client
