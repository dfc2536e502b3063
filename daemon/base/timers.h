// Time on ctl: alarms, and what the clocks say. Who needs them takes these, so that a test owns the time.
#pragma once

#include <cstdint>
#include <functional>

namespace profd::base {

// **Thread:** ctl.
class Timers {
 public:
  using Id = uint64_t;

  virtual ~Timers() = default;
  // Once, after `delay_ns`, never within the call.
  virtual Id After(uint64_t delay_ns, std::function<void()> work) = 0;
  // Harmless for one that has run.
  virtual void Cancel(Id id) = 0;
  virtual uint64_t WallNs() const = 0;
  virtual uint64_t RawNs() const = 0;  // CLOCK_MONOTONIC_RAW
};

}  // namespace profd::base
