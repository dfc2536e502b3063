// Calls to the driver that may block, in one queue per device.
#pragma once

#include <cstdint>
#include <functional>
#include <map>

#include "daemon/device/channel_hub.h"
#include "daemon/device/control_queue.h"
#include "daemon/device/timer.h"

namespace profd::device {

// **Thread:** ctl; answers run on ctl, none after the destructor.
class DeviceCalls {
 public:
  DeviceCalls(HubOptions options, Timer& timer, Post post)
      : options_(options), timer_(timer), post_(std::move(post)) {}

  // Calls of one channel run in order. A call that ends something must run, and has the shorter time-out of a
  // stop. `late`: after `done` has said kTimedOut, once the call has returned.
  void Submit(uint32_t device, uint32_t channel, bool ends, std::function<void()> work,
              std::function<void(ControlQueue::Outcome)> done, std::function<void()> late);
  // `done` gets true when it ran in time. `work` owns what it touches: it may still run after a time-out.
  // `ends`: it has the time-out of a stop.
  void Call(uint32_t device, std::function<void()> work, std::function<void(bool)> done, bool ends = false);

 private:
  ControlQueue::Call WithinTime(bool ends, std::function<void()> work) const;
  ControlQueue& QueueOf(uint32_t device);

  const HubOptions options_;
  Timer& timer_;
  const Post post_;
  std::map<uint32_t, ControlQueue> queues_;
};

}  // namespace profd::device
