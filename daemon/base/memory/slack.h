// What the allocator keeps of memory that somebody has let go of goes back to the kernel: here alone. When
// all of it can is not known: gRPC lets go of a flood's connections as it gets to them. So it is tried again
// and again for half a minute after the last flood, and never where there was none.
#pragma once

#include <cstdint>

#include "daemon/base/executor.h"

namespace profd::base {

// **Thread:** ctl, unless it is said. There is one in a process.
class Slack {
 public:
  explicit Slack(Executor& ctl) : Slack(ctl, kFirstNs) {}
  Slack(Executor& ctl, uint64_t first_ns);
  ~Slack();
  Slack(const Slack&) = delete;
  Slack& operator=(const Slack&) = delete;

  // Any thread: much was let go of, or is about to be.
  static void Comes();
  // From now on memory is looked at from time to time: for what nobody tells of.
  void Watch();

 private:
  static constexpr uint64_t kFirstNs = 1'000'000'000;
  void Begin();
  void GiveBack(uint64_t after_ns);
  void Look();

  Executor& ctl_;
  const uint64_t first_ns_;
  Timers::Id timer_ = 0, look_ = 0;
  uint64_t least_bytes_ = UINT64_MAX;  // resident, since it was last given back
};

}  // namespace profd::base
