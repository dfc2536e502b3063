// Asks devices, as long as somebody wants to know, whether they work and which channels they offer.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "daemon/device/channel_hub.h"
#include "daemon/device/device_calls.h"
#include "daemon/device/timer.h"
#include "daemon/driver/driver.h"

namespace profd::device {

// **Thread:** ctl; callbacks run on ctl.
class DeviceWatch {
 public:
  struct Wishes {
    std::function<std::set<uint32_t>()> in_use;  // devices whose health matters at the moment …
    std::function<void(uint32_t device, const std::string& trouble)>
        on_health;                                  // … told when it changes; "": well
    std::function<std::set<uint32_t>()> expecting;  // devices that are to offer more channels …
    std::function<void(uint32_t device, const std::vector<uint32_t>& channels)>
        on_channels;  // … what they offer
  };
  DeviceWatch(std::shared_ptr<driver::Driver> driver, DeviceCalls& calls, Timer& timer, Wishes wishes)
      : driver_(std::move(driver)), calls_(calls), timer_(timer), wishes_(std::move(wishes)) {}

  // Every two seconds, from then on, for as long as a device is in use.
  void WatchHealth();
  // Now, and every second for as long as a device is expected to offer more.
  void LookForChannels();
  // The same, but not now.
  void LookForChannelsLater();

 private:
  void AskHealth();
  void OnStatus(uint32_t device, const std::string& trouble);

  const std::shared_ptr<driver::Driver> driver_;
  DeviceCalls& calls_;
  Timer& timer_;
  const Wishes wishes_;
  bool health_armed_ = false;
  bool channels_armed_ = false;
  std::set<uint32_t> asked_health_;  // answers that are under way
  std::set<uint32_t> asked_channels_;
  std::set<uint32_t> lost_;
};

}  // namespace profd::device
