// A sleeping thread's bell: an eventfd that is rung only when the sleeper said it sleeps, so that a busy
// consumer costs its producers no system call.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/unique_fd.h"

namespace profd::base {

// **Thread:** Ring from any thread; Prepare/Cancel/Wait from the one sleeper.
class WakeUp {
 public:
  WakeUp();

  void Ring();

  // Sleeper: Prepare(); look once more for work; if there is some Cancel(), else Wait().
  void Prepare() { asleep_.exchange(true, std::memory_order_acq_rel); }
  void Cancel() { asleep_.exchange(false, std::memory_order_acq_rel); }
  // Until rung or `deadline_ns` (CLOCK_MONOTONIC, UINT64_MAX = none); true when rung.
  bool Wait(uint64_t deadline_ns);

 private:
  UniqueFd fd_;
  // Changed by exchanges only: of two, the later one sees all that the other thread did before its own.
  std::atomic<bool> asleep_{false};
};

}  // namespace profd::base
