// Notices that a pump hangs in the driver: that device is left alone until its read has returned, all others
// are read on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "daemon/device/channel_hub.h"
#include "daemon/device/channel_pump.h"
#include "daemon/device/timer.h"

namespace profd::device {

// **Thread:** ctl; callbacks run on ctl.
class ReadWatch {
 public:
  using Pumps = std::vector<std::unique_ptr<ChannelPump>>;
  struct Wishes {
    std::function<bool()> in_use;                // whether any channel is read
    std::function<bool()> stopping;              // whether a stop waits for channels to be read empty
    std::function<std::string(ChannelId)> kind;  // "hbm"
    std::function<void(uint32_t device, const std::string& why)> on_hung;
    std::function<void(uint32_t device)> on_returned;
  };

  // After which a read counts as one that hangs.
  struct Timeouts {
    uint64_t read_ns = 0;
    uint64_t stopping_ns = 0;  // while a stop waits
  };

  // `pumps` outlive it.
  ReadWatch(const Pumps& pumps, Timeouts timeouts, Timer& timer, Post post, Wishes wishes);

  // Four times in a time-out, from then on, for as long as a channel is read. To be called as well when a
  // stop begins: a stop of one device must not run out of time because another device holds the pump.
  void Watch();
  // A call that ends something has not come back in time: whoever reads meanwhile, and has for a while, waits
  // in vain, too.
  void LookAtOnce();
  // Why a device that hangs is not read; nullptr: it does not hang.
  const std::string* Hung(uint32_t device) const;

 private:
  static constexpr uint64_t kLooks = 4;  // in a time-out

  uint64_t TimeoutNs() const;
  uint64_t ShortestNs() const { return timeouts_.stopping_ns / kLooks; }
  void Look(uint64_t timeout_ns);
  void OnReturned(ChannelPump& pump, uint32_t device);

  const Pumps& pumps_;
  const Timeouts timeouts_;
  Timer& timer_;
  const Post post_;
  const Wishes wishes_;
  const std::shared_ptr<ReadWatch*> self_;  // what posted closures hold weakly
  uint64_t interval_ns_ = 0;                // between two looks; 0: does not watch
  Timer::Id next_ = 0;
  std::map<uint32_t, std::string> hung_;
};

}  // namespace profd::device
