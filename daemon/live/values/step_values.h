// How fast the loops of programs with an agent go, as values; nobody needs to record them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <vector>

#include "daemon/agent/lanes/region.h"
#include "daemon/live/values/host_values.h"
#include "daemon/live/values/metric.h"

namespace profd::live {

struct SteppingProcess {
  pid_t pid = 0;
  ProcessLabels labels;
  std::vector<uint32_t> devices;  // that it had open when it registered
  agent::StepTotals totals;       // untrusted
};

// **Thread:** ctl.
class StepValues {
 public:
  // `raw_ns`: now.
  void Add(const std::vector<SteppingProcess>& processes, uint64_t raw_ns, std::vector<Sample>& samples);

 private:
  struct Loop {
    agent::StepTotals totals;
    uint64_t changed_ns = 0;  // when it was seen to go on
    double seconds = 0;       // of a step
  };
  // What is known of the loop, brought up to date.
  static Loop Follow(const Loop* before, const agent::StepTotals& totals, uint64_t raw_ns);

  std::map<pid_t, Loop> loops_;
};

}  // namespace profd::live
