#include "client/export/views/layers.h"

#include <algorithm>

namespace profd::client {
namespace {

constexpr LayerInfo kInfos[kLayers] = {
    {"", "", 6, 6, true},
    {"CANN", "", 7, 7, true},
    {"CPU Usage", "", 9, 9, true},
    {"Memory Usage", "", 10, 10, true},
    {"Network Usage", "", 11, 11, true},
    {"Disk Usage", "", 12, 12, true},
    {"OS Runtime API", "", 13, 13, true},
    {"Ascend Hardware", "", 14, 14, false},
    {"AI Core Freq", "", 15, 15, false},
    {"Voltage Info", "", kNoNumber, 16, false},
    {"Communication", "", 16, 17, false},
    {"HBM", "hbm", 24, 0, false},
    {"DDR", "ddr", 18, 0, false},
    {"PCIe", "pcie", 23, 0, false},
    {"HCCS", "hccs", 20, 0, false},
    {"NIC", "nic", 21, 0, false},
    {"RoCE", "roce", 22, 0, false},
    {"LLC", "llc", 27, 0, false},
    {"NPU MEM", "npu-mem|npu-app-mem", 17, 0, false},
    {"AI Core Utilization", "aicore", kNoNumber, 0, false},
    {"Stars Soc Info", "soc-profile", 25, 0, false},
    {"Stars Chip Trans", "soc-profile", 26, 0, false},
    {"Acc PMU", "soc-profile", 19, 0, false},
    {"SIO", "soc-profile", 28, 0, false},
    {"QoS", "qos", 29, 0, false},
    {"CCU", "", 30, kNoNumber, false},
    {"Ub", "ub", kNoNumber, 0, false},
    {"Overlap Analysis", "", 31, 31, false},
    {"Other", "", kNoNumber, kNoNumber, false},
};

constexpr uint32_t kNumbers = 32;
// The first number the older exporter gives to a layer that has none of its own.
constexpr uint32_t kFirstFree = 20;

// Whether a device has data of one of "kind|kind".
bool IsThere(std::string_view kinds, const CaptureFacts& facts) {
  const size_t bar = kinds.find('|');
  const bool first = std::ranges::count(facts.kinds, kinds.substr(0, bar)) != 0;
  return first || (bar != kinds.npos && IsThere(kinds.substr(bar + 1), facts));
}

}  // namespace

const LayerInfo& InfoOf(Layer layer) { return kInfos[static_cast<size_t>(layer)]; }

bool OlderExporter(const format::SideFacts& device) {
  return !format::TraitsOf(device.chip).newer_exporter || device.cores_sampled;
}

LayerPlaces PlacesOf(bool older, const CaptureFacts& facts) {
  static_assert(kLayers <= kNumbers);
  LayerPlaces places;
  std::array<bool, kNumbers> taken{}, has{};
  const auto take = [&](size_t layer, uint32_t number) {
    if (number >= kNumbers || taken[number]) return;
    places[layer] = {number, number};
    taken[number] = has[layer] = true;
  };
  const auto fixed = [older](const LayerInfo& info) {
    if (!older) return info.index;
    return info.kind.empty() ? info.older_index : kNoNumber;
  };
  for (size_t i = 0; i < kLayers; ++i) take(i, fixed(kInfos[i]));
  // Where the older exporter shows more than it has numbers for, it would begin to use some twice.
  uint32_t next = kFirstFree;
  for (size_t i = 0; i < kLayers; ++i) {
    if (older && !kInfos[i].kind.empty() && IsThere(kInfos[i].kind, facts)) take(i, next++);
  }
  // What the vendor does not show on this chip gets numbers that it does not use, and a place behind the
  // others.
  uint32_t free = 0;
  for (size_t i = 0; i < kLayers; ++i) {
    if (has[i]) continue;
    while (taken[free]) ++free;
    taken[free] = true;
    places[i] = {free, kNumbers + static_cast<uint32_t>(i)};
  }
  return places;
}

}  // namespace profd::client
