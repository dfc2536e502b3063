// What a reading of /proc says, as values.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/host/reading.h"
#include "daemon/live/values/metric.h"

namespace profd::live {

// A process with an agent, as it is shown.
struct ProcessLabels {
  uid_t uid = 0;
  std::vector<Label> labels;
};

// **Thread:** ctl.
class HostValues {
 public:
  void Add(const host::HostReading& reading, const std::map<pid_t, ProcessLabels>& processes,
           std::vector<Sample>& samples);

 private:
  void AddCpu(const host::HostReading& reading, std::vector<Sample>& samples) const;
  void AddProcesses(const host::HostReading& reading, const std::map<pid_t, ProcessLabels>& processes,
                    std::vector<Sample>& samples) const;

  std::optional<host::HostReading> before_;
};

}  // namespace profd::live
