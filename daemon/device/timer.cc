#include "daemon/device/timer.h"

#include <utility>

namespace profd::device {

Timer::~Timer() {
  for (const auto& [id, of_ctl] : pending_) ctl_.Cancel(of_ctl);
}

Timer::Id Timer::After(uint64_t delay_ns, std::function<void()> alarm) {
  const Id id = next_id_++;
  pending_[id] = ctl_.After(delay_ns, [this, id, alarm = std::move(alarm)] {
    pending_.erase(id);
    alarm();
  });
  return id;
}

void Timer::Cancel(Id id) {
  const auto found = pending_.find(id);
  if (found == pending_.end()) return;
  ctl_.Cancel(found->second);
  pending_.erase(found);
}

}  // namespace profd::device
