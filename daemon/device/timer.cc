#include "daemon/device/timer.h"

#include <chrono>

#include "base/clock.h"
#include "base/thread.h"

namespace profd::device {

Timer::Timer(Post post) : post_(std::move(post)), self_(std::make_shared<Timer*>(this)) {}

Timer::~Timer() {
  {
    const std::lock_guard lock(mutex_);
    quit_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

Timer::Id Timer::After(uint64_t delay_ns, std::function<void()> alarm) {
  const Id id = next_id_++;
  const uint64_t deadline = base::MonotonicNs() + delay_ns;
  alarms_.emplace(id, std::pair(deadline, std::move(alarm)));
  bool sooner = false;
  {
    const std::lock_guard lock(mutex_);
    const auto entry = deadlines_.insert({deadline, id}).first;
    sooner = entry == deadlines_.begin();
  }
  if (!thread_.joinable()) {
    thread_ = base::StartThread("drv-timer", [this] { Body(); });
  } else if (sooner) {
    changed_.notify_one();
  }
  return id;
}

void Timer::Cancel(Id id) {
  const auto alarm = alarms_.find(id);
  if (alarm == alarms_.end()) return;
  const std::lock_guard lock(mutex_);
  deadlines_.erase({alarm->second.first, id});  // the thread may wake once for nothing; it need not be told
  alarms_.erase(alarm);
}

void Timer::Fire(Id id) {
  const auto alarm = alarms_.find(id);
  if (alarm == alarms_.end()) return;
  const std::function<void()> run = std::move(alarm->second.second);
  alarms_.erase(alarm);
  run();
}

void Timer::Body() {
  std::unique_lock lock(mutex_);
  while (!quit_) {
    if (deadlines_.empty()) {
      changed_.wait(lock);
      continue;
    }
    const auto [deadline, id] = *deadlines_.begin();
    const uint64_t now = base::MonotonicNs();
    if (deadline > now) {
      changed_.wait_for(lock, std::chrono::nanoseconds(deadline - now));
      continue;
    }
    deadlines_.erase(deadlines_.begin());
    lock.unlock();
    post_([weak = std::weak_ptr(self_), id = id] {
      if (const auto self = weak.lock()) (*self)->Fire(id);
    });
    lock.lock();
  }
}

}  // namespace profd::device
