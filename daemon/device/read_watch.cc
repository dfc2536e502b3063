#include "daemon/device/read_watch.h"

#include <utility>

#include "base/calendar.h"
#include "base/clock.h"

namespace profd::device {

ReadWatch::ReadWatch(const Pumps& pumps, Timeouts timeouts, Timer& timer, Post post, Wishes wishes)
    : pumps_(pumps),
      timeouts_(timeouts),
      timer_(timer),
      post_(std::move(post)),
      wishes_(std::move(wishes)),
      self_(std::make_shared<ReadWatch*>(this)) {}

uint64_t ReadWatch::TimeoutNs() const {
  if (!wishes_.stopping()) return timeouts_.read_ns;
  // Devices of one node hang together, and a stop has one time-out for all. Not by the clock: on a busy
  // machine a read that comes late in a stop is no read that hangs.
  return hung_.empty() ? timeouts_.stopping_ns : ShortestNs();
}

void ReadWatch::Watch() {
  const uint64_t interval_ns = TimeoutNs() / kLooks;
  if (interval_ns_ != 0 && interval_ns_ <= interval_ns) return;
  if (interval_ns_ != 0) timer_.Cancel(next_);
  interval_ns_ = interval_ns;
  next_ = timer_.After(interval_ns, [this] {
    interval_ns_ = 0;
    Look(TimeoutNs());
    if (wishes_.in_use()) Watch();
  });
}

const std::string* ReadWatch::Hung(uint32_t device) const {
  const auto found = hung_.find(device);
  return found == hung_.end() ? nullptr : &found->second;
}

void ReadWatch::LookAtOnce() { Look(ShortestNs()); }

void ReadWatch::Look(uint64_t timeout_ns) {
  for (const auto& pump : pumps_) {
    const auto device = std::make_shared<uint32_t>(0);
    const auto returned = [post = post_, weak = std::weak_ptr(self_), pump = pump.get(), device] {
      post([weak, pump, device] {
        if (const auto self = weak.lock()) (*self)->OnReturned(*pump, *device);
      });
    };
    const auto id = pump->GiveUpRead(base::MonotonicNs() - timeout_ns, returned);
    if (!id) continue;
    *device = id->device;  // before ctl runs what was posted
    // While one has not returned, another one is the same trouble.
    const auto hung = hung_
                          .try_emplace(*device, "device " + std::to_string(*device) + " hangs: a read of " +
                                                    wishes_.kind(*id) + " has not returned since " +
                                                    base::TimeOfDay(base::WallNs() - timeout_ns) +
                                                    "; the device is left alone until it does")
                          .first;
    wishes_.on_hung(*device, hung->second);
  }
}

void ReadWatch::OnReturned(ChannelPump& pump, uint32_t device) {
  hung_.erase(device);
  pump.ReadAgain(device);
  wishes_.on_returned(device);
}

}  // namespace profd::device
