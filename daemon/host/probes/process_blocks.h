// <pid>-CpuUsage.data and <pid>-Memory.data: blocks of one process each.
#pragma once

#include <string>

#include "daemon/host/probes/probe.h"

namespace profd::host {

// Writes them for host-pid-cpu and host-pid-mem, and for host-cpu and host-mem when they watch several
// processes.
// **Thread:** sample.
class ProcessBlocks {
 public:
  enum class What { kCpu, kMemory };
  enum class When {
    kAlways,
    kSeveral,  // from when there are several processes; one alone is in the sum already
  };

  ProcessBlocks(What what, When when, const ProbeContext& context, chunk::StreamStatsPtr stats);

  void Want();
  void Sample(const Tick& tick);
  void Miss(const Tick& tick, uint64_t from_raw_ns, uint64_t count);

 private:
  bool Active();
  bool MakeBody(Process& process, const Tick& tick);

  const What what_;
  HostFiles& files_;
  const Family& family_;
  ProcessStreams streams_;
  bool active_;
  std::string body_;
  std::string block_;
};

}  // namespace profd::host
