// ctl's time in a test's hands: nothing happens but by Advance().
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <utility>

#include "base/clock.h"
#include "daemon/base/timers.h"

namespace profd {

// **Thread:** that of the test.
class FakeTimers : public base::Timers {
 public:
  Id After(uint64_t delay_ns, std::function<void()> work) override {
    alarms_[{now_ns_ + delay_ns, ++made_}] = std::move(work);
    return made_;
  }
  void Cancel(Id id) override {
    std::erase_if(alarms_, [id](const auto& alarm) { return alarm.first.second == id; });
  }
  uint64_t WallNs() const override { return wall_ns_ + now_ns_; }
  uint64_t RawNs() const override { return raw_ns_ + now_ns_; }

  // Alarms run in their order, each at its time.
  void Advance(uint64_t ns) {
    const uint64_t until_ns = now_ns_ + ns;
    while (!alarms_.empty() && alarms_.begin()->first.first <= until_ns) {
      auto alarm = alarms_.extract(alarms_.begin());
      now_ns_ = alarm.key().first;
      alarm.mapped()();
    }
    now_ns_ = until_ns;
  }
  // Somebody sets the wall clock forward, which no alarm notices.
  void SetWallForward(uint64_t ns) { wall_ns_ += ns; }
  size_t alarms() const { return alarms_.size(); }

 private:
  std::map<std::pair<uint64_t, Id>, std::function<void()>> alarms_;  // by their time
  Id made_ = 0;
  uint64_t now_ns_ = 0;
  uint64_t wall_ns_ = base::WallNs();
  const uint64_t raw_ns_ = base::RawNs();
};

}  // namespace profd
