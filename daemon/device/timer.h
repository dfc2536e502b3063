// ctl's alarms for one owner.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "daemon/base/timers.h"

namespace profd::device {

// **Thread:** ctl; no alarm runs after the destructor.
class Timer {
 public:
  using Id = uint64_t;

  explicit Timer(base::Timers& ctl) : ctl_(ctl) {}
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  Id After(uint64_t delay_ns, std::function<void()> alarm);
  // Harmless for an alarm that has run.
  void Cancel(Id id);

 private:
  base::Timers& ctl_;
  std::map<Id, base::Timers::Id> pending_;
  Id next_id_ = 1;
};

}  // namespace profd::device
