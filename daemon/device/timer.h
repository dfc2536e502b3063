// Alarms for ctl code that has only a way to post to ctl: one sleeping thread, no wake-ups without an alarm.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>
#include <utility>

#include "daemon/device/channel_hub.h"

namespace profd::device {

// **Thread:** ctl; alarms run on ctl, none after the destructor. Owns the thread "drv-timer".
class Timer {
 public:
  using Id = uint64_t;

  explicit Timer(Post post);
  ~Timer();
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  Id After(uint64_t delay_ns, std::function<void()> alarm);
  // Harmless for an alarm that has run.
  void Cancel(Id id);

 private:
  void Body();
  void Fire(Id id);

  const Post post_;
  std::shared_ptr<Timer*> self_;                                     // what posted closures hold weakly
  std::map<Id, std::pair<uint64_t, std::function<void()>>> alarms_;  // ctl's: deadline and what to do
  Id next_id_ = 1;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::pair<uint64_t, Id>> deadlines_;  // CLOCK_MONOTONIC
  bool quit_ = false;
  std::thread thread_;  // from the first alarm on
};

}  // namespace profd::device
