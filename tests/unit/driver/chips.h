// One device of each chip as a driver would describe it; channel lists as of the public driver tables.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "daemon/driver/driver.h"

namespace profd::driver {

using ChannelRange = std::pair<uint32_t, uint32_t>;

inline std::vector<uint32_t> ChannelsOf(const std::vector<ChannelRange>& ranges) {
  std::vector<uint32_t> channels;
  for (const auto& [first, last] : ranges) {
    for (uint32_t channel = first; channel <= last; ++channel) channels.push_back(channel);
  }
  std::sort(channels.begin(), channels.end());
  return channels;
}

inline DeviceFacts MakeDevice(Chip chip, uint32_t id = 0) {
  DeviceFacts device;
  device.id = device.physical_id = id;
  device.chip = chip;
  device.status = kWorking;
  device.counter_mhz = 50;
  switch (chip) {
    case Chip::k310:
      device.channels = ChannelsOf({{4, 4}, {6, 7}, {10, 10}, {43, 44}, {130, 131}, {142, 142}});
      device.ai_core_num = 2;
      break;
    case Chip::k910:
      device.channels = ChannelsOf({{1, 1}, {3, 4}, {6, 10}, {43, 47}, {129, 142}});
      device.ai_core_num = 32;
      break;
    case Chip::k310P:
      device.channels = ChannelsOf({{3, 3}, {7, 8}, {10, 10}, {43, 47}, {130, 131}, {134, 139}, {142, 142}});
      device.ai_core_num = 8;
      break;
    case Chip::k310B:
      device.channels = ChannelsOf({{4, 4},
                                    {6, 8},
                                    {10, 10},
                                    {44, 44},
                                    {47, 47},
                                    {50, 50},
                                    {52, 54},
                                    {130, 132},
                                    {134, 135},
                                    {137, 137}});
      device.ai_core_num = 1;
      device.aiv_num = 1;
      break;
    default:  // 910B and what came after it
      device.channels =
          ChannelsOf({{1, 1}, {3, 4}, {6, 6}, {8, 42}, {44, 44}, {47, 47}, {50, 50}, {52, 84}, {86, 98}});
      for (uint32_t channel = 129; channel <= 142; ++channel) device.channels.push_back(channel);
      if (chip == Chip::k950 || chip == Chip::k910_96) {
        for (const uint32_t channel : {146, 147, 148, 149, 151}) device.channels.push_back(channel);
      }
      device.ai_core_num = 24;
      device.aiv_num = 48;
      device.qos = {{1, "stream1"}, {2, "stream2"}, {3, "stream3"}};
      break;
  }
  return device;
}

}  // namespace profd::driver
