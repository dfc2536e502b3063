#include "client/export/layers.h"

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
    {"Voltage Info", "", 36, 16, false},
    {"Communication", "", 16, 17, false},
    {"HBM", "hbm", 24, 0, false},
    {"DDR", "ddr", 18, 0, false},
    {"PCIe", "pcie", 23, 0, false},
    {"HCCS", "hccs", 20, 0, false},
    {"NIC", "nic", 21, 0, false},
    {"RoCE", "roce", 22, 0, false},
    {"LLC", "llc", 27, 0, false},
    {"NPU MEM", "npu-mem|npu-app-mem", 17, 0, false},
    {"AI Core Utilization", "aicore", 37, 0, false},
    {"Stars Soc Info", "soc-profile", 25, 0, false},
    {"Stars Chip Trans", "soc-profile", 26, 0, false},
    {"Acc PMU", "soc-profile", 19, 0, false},
    {"SIO", "soc-profile", 28, 0, false},
    {"QoS", "qos", 29, 0, false},
    {"Ub", "ub", 33, 0, false},
    {"Overlap Analysis", "", 31, 31, false},
    {"Other", "", 38, 38, false},
};

// The first number the older exporter gives to a layer that has none of its own.
constexpr uint32_t kFirstFree = 20;
constexpr uint32_t kFirstOfOurs = 32;

// Whether a device has data of one of "kind|kind".
bool IsThere(std::string_view kinds, const CaptureFacts& facts) {
  const size_t bar = kinds.find('|');
  const bool first = std::ranges::count(facts.kinds, kinds.substr(0, bar)) != 0;
  return first || (bar != kinds.npos && IsThere(kinds.substr(bar + 1), facts));
}

}  // namespace

const LayerInfo& InfoOf(Layer layer) { return kInfos[static_cast<size_t>(layer)]; }

bool OlderExporter(const format::SideFacts& device) {
  const bool newer = device.chip == 5 || device.chip == 15 || device.chip == 16;
  return !newer || device.cores_sampled;
}

uint32_t SortIndex(Layer layer, bool older, const CaptureFacts& facts) {
  const LayerInfo& info = InfoOf(layer);
  if (!older) return info.index;
  if (info.kind.empty()) return info.older_index;
  // Numbers that no layer of the vendor's has are for what it does not show on this chip.
  if (!IsThere(info.kind, facts)) return kFirstOfOurs + static_cast<uint32_t>(layer);
  uint32_t index = kFirstFree;
  for (size_t i = static_cast<size_t>(Layer::kHbm); i < static_cast<size_t>(layer); ++i)
    index += IsThere(kInfos[i].kind, facts);
  return index;
}

}  // namespace profd::client
