// Which channel of which device.
#pragma once

#include <cstdint>

namespace profd::device {

struct ChannelId {
  uint32_t device = 0;
  uint32_t channel = 0;
  friend bool operator==(const ChannelId&, const ChannelId&) = default;
  friend bool operator<(const ChannelId& a, const ChannelId& b) {
    return a.device != b.device ? a.device < b.device : a.channel < b.channel;
  }
};

}  // namespace profd::device
