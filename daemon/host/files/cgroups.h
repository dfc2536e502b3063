// Where a process's control groups are, of version 2 and of version 1.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/host/files/sys_tree.h"

namespace profd::host {

enum class Controller : uint8_t { kCpu, kCpuAccounting, kMemory, kIo, kPids };

struct Cgroup {
  std::string name;  // as /proc/PID/cgroup has it, "/a/b"
  std::string dir;   // below the tree
  bool v2 = false;
};

// The one that `pid` is in and all above it, the nearest first; empty where it has none, or is no more.
std::vector<Cgroup> CgroupsOf(const SysTree& tree, pid_t pid, Controller controller);

// How often, and for how long on all its CPUs together, a cgroup had to wait for its share of CPU time.
struct CpuThrottling {
  uint64_t times = 0, us = 0;
};
std::optional<CpuThrottling> ReadCpuThrottling(const SysTree& tree, const Cgroup& cgroup);

// How often its own memory limits were met.
struct MemoryEvents {
  uint64_t high = 0;  // above memory.high: held up
  uint64_t max = 0;   // at its limit: had to make room first
  uint64_t oom_kills = 0;
};
std::optional<MemoryEvents> ReadMemoryEvents(const SysTree& tree, const Cgroup& cgroup);

}  // namespace profd::host
