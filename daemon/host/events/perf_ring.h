// One event of the kernel's perf subsystem on one CPU, and the ring that its records come through.
#pragma once

#include <linux/perf_event.h>
#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::host {

// Whole records: the header, then what perf_event_open(2) says.
using PerfRecord = std::span<const std::byte>;

// **Thread:** one. **Owns:** the event and the ring.
class PerfRing {
 public:
  // `pid` -1: everything that runs on the CPU. `bytes`: a power of two, at least a page.
  static base::Result<PerfRing> Open(const perf_event_attr& attr, pid_t pid, int cpu, size_t bytes);
  PerfRing(PerfRing&& other) noexcept
      : fd_(std::move(other.fd_)), map_(std::exchange(other.map_, nullptr)), bytes_(other.bytes_) {}
  PerfRing& operator=(PerfRing&&) = delete;
  PerfRing(const PerfRing&) = delete;
  PerfRing& operator=(const PerfRing&) = delete;
  ~PerfRing();

  void Enable();
  void Disable();
  int event() const { return fd_.get(); }
  // What the event `fd`, of the same CPU, has to tell comes through this ring.
  base::Status Join(int fd);
  // Everything that is in it now; a record is good during the call only.
  void Drain(const std::function<void(PerfRecord)>& take);

 private:
  PerfRing(base::UniqueFd fd, std::byte* map, size_t bytes) : fd_(std::move(fd)), map_(map), bytes_(bytes) {}

  base::UniqueFd fd_;
  std::byte* map_;  // the kernel's page, then the ring
  size_t bytes_;    // of the ring
  std::vector<std::byte> split_;
};

// Opens an event that may be had or not, without a ring. kNotFound: there is no such thread, or it is ending.
base::Result<base::UniqueFd> OpenPerfEvent(const perf_event_attr& attr, pid_t pid, int cpu);
void EnablePerfEvent(int fd);
void DisablePerfEvent(int fd);
// Numbers of the CPUs that are there.
std::vector<int> OnlineCpus();

}  // namespace profd::host
