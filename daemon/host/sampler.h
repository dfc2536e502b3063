// Host sampling on absolute deadlines: a thread reads /proc for all sessions of a user and pushes rows in the
// vendor's text layouts. What it costs to look at somebody's processes, which may begin threads and programs
// without end, is time of his thread: nobody else's samples wait for it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "daemon/host/reading.h"
#include "daemon/host/rows/sample_request.h"

namespace profd::host {

using Post = std::function<void(std::function<void()>)>;

// What keeps this machine from giving a kind; kOk also where only a start can tell. Asks the kernel: not on
// ctl.
base::Status CheckKind(const std::string& kind);

struct SamplerStats {
  uint64_t ticks = 0;
  uint64_t missed_ticks = 0;  // deadlines that had passed before the work could begin; recorded as loss
  uint64_t max_late_ns = 0;
};

// **Thread:** ctl only; callbacks run on ctl. Owns the threads "sample": one for each user who samples, as
// long as he does, and one for what profd itself reads, and for users beyond the most.
class Sampler {
 public:
  explicit Sampler(Post post);
  ~Sampler();
  Sampler(const Sampler&) = delete;
  Sampler& operator=(const Sampler&) = delete;

  // Where this user's sessions are sampled. Good for a Start() of the same turn.
  size_t ThreadOf(uid_t user);
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
