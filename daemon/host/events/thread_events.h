// Perf events of every thread of some processes, and of the threads and processes that these start: nobody
// else pays for them. Their records come through one ring per CPU.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/host/events/perf_ring.h"

namespace profd::host {

// To open one is to wait for a process that executes: only where that may be (scouts/scout.h).
// **Thread:** one, which may be another than opened them. **Owns:** events and rings.
class ThreadEvents {
 public:
  // Each of `attrs` for each thread of these processes on each CPU; they are to be inherited, and closed to
  // begin with. `count` counts what they tell of, whether they are enabled or not. The rings are of
  // `ring_bytes` or, where there are many CPUs, less.
  static base::Result<ThreadEvents> Open(std::span<const pid_t> pids, std::span<const perf_event_attr> attrs,
                                         const perf_event_attr& count, size_t ring_bytes);

  void Enable();
  void Disable();
  std::vector<PerfRing>& rings() { return rings_; }
  // Of the attribute at this place in `attrs`.
  const std::vector<int>& events(size_t attr) const { return by_attr_[attr]; }
  uint64_t Counted() const;

 private:
  base::Status Attach(pid_t tid, std::span<const perf_event_attr> attrs, const perf_event_attr& count,
                      const std::vector<int>& cpus);

  std::vector<PerfRing> rings_;  // by CPU
  std::vector<base::UniqueFd> events_, counters_;
  std::vector<std::vector<int>> by_attr_;  // of events_
};

// Of these processes, as /proc has them now.
std::vector<pid_t> Threads(std::span<const pid_t> pids);

}  // namespace profd::host
