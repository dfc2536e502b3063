// Host sampling on absolute deadlines: one thread reads /proc for all sessions and pushes rows in the
// vendor's text layouts.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/chunk/pipe.h"
#include "daemon/chunk/stream_stats.h"
#include "daemon/host/reading.h"
#include "format/chunk.h"

namespace profd::host {

using Post = std::function<void(std::function<void()>)>;

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

// What keeps this machine from giving a kind; kOk also where only a start can tell. Asks the kernel: not on
// ctl.
base::Status CheckKind(const std::string& kind);

struct SampleRequest {
  uint32_t trace = 0;
  uint32_t first_stream = 0;  // stream numbers from here up are the sampler's to give out
  std::vector<ProbeRequest> probes;
  std::vector<pid_t> pids;  // targets: they, their threads and their children; empty = whole host
  chunk::Pipe* pipe = nullptr;
  // What the writer is told of a new file ("host_cpu.data", "<pid>-Memory.data"; folder "host" or profd's
  // own), counted in `stats`. Called on the thread "sample". "host_disk.data" has to be one slice: its reader
  // counts lines from one start_time per slice.
  std::function<std::shared_ptr<const chunk::StreamSpec>(const std::string& folder, const std::string& file,
                                                         chunk::StreamStatsPtr stats)>
      make_spec;
};

struct SamplerStats {
  uint64_t ticks = 0;
  uint64_t missed_ticks = 0;  // deadlines that had passed before the work could begin; recorded as loss
  uint64_t max_late_ns = 0;
};

// **Thread:** ctl only; callbacks run on ctl. Owns the thread "sample", which runs only while something is
// sampled, or once something was read.
class Sampler {
 public:
  explicit Sampler(Post post);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // kOk once every file that is known beforehand is announced. The rows of a process end with it, the rest
  // goes on.
  void Start(SampleRequest request, std::function<void(base::Status)> done);
  // Stops everything of `trace`, pushes what is gathered and the end mark.
  void Stop(uint32_t trace, std::function<void()> done);
  // What /proc says now; `done` gets it on ctl, and may be dropped with the sampler.
  void Read(ReadingRequest request, std::function<void(const HostReading&)> done);
  // Every `one_in`-th sample only; those left out count as lost. 1 = all of them.
  void Thin(uint32_t one_in);
  SamplerStats stats() const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::host
