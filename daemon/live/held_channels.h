// live.channels: the driver channels that are held for values only, at their lowest rate, until a session
// wants them.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "daemon/session/manager.h"
#include "format/chunk.h"

namespace profd::live {

// **Thread:** ctl.
class HeldChannels {
 public:
  HeldChannels(std::vector<std::string> kinds, session::Manager& manager)
      : kinds_(std::move(kinds)), manager_(manager) {}

  // Takes those that nobody has; one that could not be had is tried again after a while.
  void Hold();
  // Gives all back; `done` when the driver has them.
  void Release(std::function<void()> done);

 private:
  enum class State : uint8_t { kStarting, kHeld, kAway };
  struct Channel {
    State state = State::kAway;
    uint64_t again_ns = 0;  // kAway: not before
    bool told = false;      // why not, in the log
  };
  using Id = std::pair<uint32_t, uint32_t>;  // device, channel

  void HoldOf(const driver::DeviceFacts& facts);
  void Start(const driver::DeviceFacts& facts, const session::Plan& plan, const session::ChannelStart& start);
  void OnAway(Id id, const std::string& why);
  static format::StreamKey KeyOf(Id id);

  const std::vector<std::string> kinds_;
  session::Manager& manager_;
  std::map<Id, Channel> channels_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace profd::live
