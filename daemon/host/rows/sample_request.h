// What a session asks of the sampler: kinds with their rates, processes, and where the rows go.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/chunk/pipe.h"
#include "daemon/chunk/stream_stats.h"

namespace profd::host {

// What came of starting one kind.
struct ProbeOutcome {
  base::Status status;
  std::string note;  // what else there is to say, "" for nothing
};

// One kind of one session.
struct ProbeRequest {
  // host-cpu host-mem host-disk host-network host-sys-cpu host-sys-mem host-pid-cpu host-pid-mem
  // host-cpu-profile host-off-cpu host-osrt host-pthread host-cgroup host-net-devices
  // host-hardware
  std::string kind;
  uint32_t hz = 50;                       // 1..50, host-cpu-profile 1..999, host-{off-cpu,osrt,pthread} none
  chunk::StreamStatsPtr stats;            // sums over all files of the kind
  std::shared_ptr<ProbeOutcome> outcome;  // filled in before Start() is done; may be empty
  // What has become of it since: "… of pid 4711 hangs: …". On the thread "sample"; may be empty.
  std::function<void(const std::string&)> trouble = {};
};

struct SampleRequest {
  uint32_t trace = 0;
  uint32_t first_stream = 0;  // stream numbers from here up are the sampler's to give out
  std::vector<ProbeRequest> probes;
  std::vector<pid_t> pids;      // targets: they, their threads and their children; empty = whole host
  size_t thread = 0;            // Sampler::ThreadOf(); 0: profd's own
  chunk::Pipe* pipe = nullptr;  // from that thread
  // What the writer is told of a new file ("host_cpu.data", "<pid>-Memory.data"; folder "host" or profd's
  // own), counted in `stats`. Called on the thread "sample". "host_disk.data" has to be one slice: its reader
  // counts lines from one start_time per slice.
  std::function<std::shared_ptr<const chunk::StreamSpec>(const std::string& folder, const std::string& file,
                                                         chunk::StreamStatsPtr stats)>
      make_spec;
};

}  // namespace profd::host
