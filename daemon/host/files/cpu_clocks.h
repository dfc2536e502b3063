// What keeps the CPUs of this host from their full frequency.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "daemon/host/files/sys_tree.h"

namespace profd::host {

struct CpuClocks {
  std::string governor;  // "powersave on 4 of 8 CPU frequency policies"; "" all perform, or nobody knows
  std::string limit;     // "2000 of 2600 MHz on 4 of 8 CPU frequency policies"; "" none
  // Since boot; nothing where the hardware does not count. `packages` is that of the package with the most.
  struct Heat {
    uint64_t cores = 0, packages = 0;
  };
  std::optional<Heat> heat;
};

// Reads up to five files per CPU.
CpuClocks ReadCpuClocks(const SysTree& tree);

}  // namespace profd::host
