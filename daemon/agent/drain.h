// The drain thread: copies what processes publish in their lanes into chunks, while anything is recorded.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "daemon/agent/lanes/recording_stats.h"
#include "daemon/agent/lanes/region.h"
#include "daemon/agent/lanes/ring_reader.h"
#include "daemon/agent/report_files.h"
#include "daemon/chunk/pipe.h"

namespace profd::agent {

// Where the records of one process go. The two streams of `first_stream` are: +0 lanes, +1 names.
struct DrainTarget {
  uid_t user = 0;  // whose process it is: users share the drain by bytes
  uint32_t trace = 0;
  uint32_t first_stream = 0;
  // With chunks of at least 4 KiB. None: the records wait in their rings for Retarget(), in drop mode until
  // those are full.
  chunk::Pipe* pipe = nullptr;
  // What the store has to know of a stream: pushed ahead of its first chunk. Empty: the store knows it
  // already.
  std::shared_ptr<const chunk::StreamSpec> lanes_spec;
  std::shared_ptr<const chunk::StreamSpec> names_spec;
  std::shared_ptr<ReportFiles> reports;   // of the trace; none: no reports were asked for
  std::shared_ptr<RecordingStats> stats;  // of as many lanes as the region has
};

// **Thread:** ctl only, callbacks run on ctl, each exactly once, never from inside the call; ~Drain after
// every recording was stopped. **Owns:** the thread "drain", from the first recording on.
class Drain {
 public:
  using Id = uint64_t;
  using Reply = std::function<void(std::function<void()>)>;  // runs a closure on ctl

  struct Options {
    uint64_t sweep_ns = 100'000'000;  // records reach a chunk within this
  };

  Drain(Options options, Reply reply);
  ~Drain();
  Drain(const Drain&) = delete;
  Drain& operator=(const Drain&) = delete;

  // Hands back (drop mode) or skips what is left of an earlier recording, so that only what is published from
  // now on is read; then reads until Stop(). Call before the process is fired. Lossless for a region that is
  // idle. One recording per region: the next Start() after the `done` of its Stop().
  // `cut_off`: once at most, when the region holds what no agent writes; nothing more of it is read.
  Id Start(
      std::shared_ptr<Region> region, RingMode mode, DrainTarget target,
      std::function<void()> cut_off = [] {});
  // From here on the records go to another trace (names from the beginning). The first trace gets everything
  // that was published before. `done`: nothing more is pushed for the old one.
  void Retarget(Id id, DrainTarget target, std::function<void()> done);
  // Drop mode: what is published now goes out at once. Overwrite mode reads nothing until this: copies what
  // is in the rings now, oldest first, lanes as they are. Records that were written over meanwhile are left
  // out, not counted as lost; so are those older than `newest_ns` (0: none) before the latest clock pair of
  // the region, so have the process pair its clocks first. A second snapshot into the same target goes on
  // behind the first; after Retarget() it begins with the oldest again.
  void Snapshot(Id id, uint64_t newest_ns, std::function<void()> done);
  // Drop mode: reads what is published now. Ends the recording. The process was told to stop before (or is
  // dead).
  void Stop(Id id, std::function<void()> done);
  // Pushes the end mark of `trace` into `pipe`, behind everything of it: once no recording goes there any
  // more.
  void EndTrace(uint32_t trace, chunk::Pipe& pipe);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::agent
