#include "daemon/device/device_watch.h"

#include <memory>
#include <utility>

namespace profd::device {

using base::Result;

namespace {

constexpr uint64_t kHealthEveryNs = 2'000'000'000;
constexpr uint64_t kChannelsEveryNs = 1'000'000'000;
constexpr int kWorking = 1;  // drvDeviceStatus

}  // namespace

void DeviceWatch::WatchHealth() {
  if (std::exchange(health_armed_, true)) return;
  timer_.After(kHealthEveryNs, [this] {
    health_armed_ = false;
    AskHealth();
  });
}

void DeviceWatch::AskHealth() {
  const std::set<uint32_t> in_use = wishes_.in_use();
  std::erase_if(lost_, [&](uint32_t device) { return !in_use.contains(device); });
  if (in_use.empty()) return;
  WatchHealth();
  for (const uint32_t id : in_use) {
    if (!asked_health_.insert(id).second) continue;
    const auto status = std::make_shared<Result<int>>(0);
    calls_.Call(
        id, [driver = driver_, id, status] { *status = driver->DeviceStatus(id); },
        [this, id, status](bool in_time) {
          if (!in_time) {
            OnStatus(id, "it does not answer");
          } else if (!status->ok()) {
            OnStatus(id, status->status().message());
          } else {
            OnStatus(id, **status == kWorking
                             ? ""
                             : "its status is " + std::to_string(**status) + ", not 1 (working)");
          }
        });
  }
}

void DeviceWatch::OnStatus(uint32_t device, const std::string& trouble) {
  asked_health_.erase(device);
  const bool changed = trouble.empty() ? lost_.erase(device) > 0 : lost_.insert(device).second;
  if (changed) wishes_.on_health(device, trouble);
}

void DeviceWatch::LookForChannelsLater() {
  if (std::exchange(channels_armed_, true)) return;
  timer_.After(kChannelsEveryNs, [this] {
    channels_armed_ = false;
    LookForChannels();
  });
}

void DeviceWatch::LookForChannels() {
  for (const uint32_t device : wishes_.expecting()) {
    LookForChannelsLater();
    if (!asked_channels_.insert(device).second) continue;
    const auto listed = std::make_shared<Result<std::vector<uint32_t>>>(std::vector<uint32_t>{});
    calls_.Call(
        device, [driver = driver_, device, listed] { *listed = driver->Channels(device); },
        [this, device, listed](bool in_time) {
          asked_channels_.erase(device);
          if (in_time && listed->ok()) wishes_.on_channels(device, **listed);
        });
  }
}

}  // namespace profd::device
