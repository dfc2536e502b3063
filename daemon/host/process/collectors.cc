#include "daemon/host/process/collectors.h"

#include <unistd.h>

#include <algorithm>
#include <string_view>

#include "daemon/host/process/process.h"
#include "daemon/host/process/process_image.h"

namespace profd::host {

namespace {

// As the kernel cuts names: the vendor's command line collector and its helpers, the monitors, another profd.
constexpr std::string_view kNames[] = {"msprof",  "msprof.bin", "msprofbin", "msmonitor",
                                       "dynolog", "npumonitor", kOwnName};

}  // namespace

std::vector<Collector> FindCollectors() {
  std::vector<Collector> found;
  for (const pid_t pid : ListProcesses()) {
    if (pid == ::getpid()) continue;
    const std::string name = CommandName(pid);
    if (std::find(std::begin(kNames), std::end(kNames), name) == std::end(kNames)) continue;
    const ProcessFacts facts = ReadProcessFacts(pid);
    if (facts.exists && !facts.is_thread) found.push_back({pid, facts.uid, facts.comm});
  }
  return found;
}

}  // namespace profd::host
