// The processes of the vendor's timeline: areas of a device or the host, each a row of tracks in a viewer.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/export/output.h"

namespace profd::client {

enum class Layer : uint8_t {
  kProgram,  // marks and ranges; named after the program
  kCann,
  kCpuUsage,
  kMemoryUsage,
  kNetworkUsage,
  kDiskUsage,
  kOsCalls,
  kHardware,
  kCoreFrequency,
  kVoltage,
  kCommunication,
  kHbm,  // from here to kUb in the order in which the vendor's older exporter numbers what is there
  kDdr,
  kPcie,
  kHccs,
  kNic,
  kRoce,
  kLlc,
  kNpuMemory,
  kCoreUtilization,
  kSocInfo,
  kChipTransfer,
  kAccPmu,
  kSio,
  kQos,
  kUb,
  kOverlap,
  kOther,  // what the vendor's timeline does not have
};
inline constexpr size_t kLayers = static_cast<size_t>(Layer::kOther) + 1;

struct LayerInfo {
  std::string_view name;
  std::string_view kind;  // whose presence gives it a number in the older exporter; "" = its number is fixed
  uint8_t index;          // sort index, newer exporter (C++)
  uint8_t older_index;    // of the older one (Python), where it is fixed
  bool of_host;
};
const LayerInfo& InfoOf(Layer layer);

// Whether the vendor makes this device's timeline with its older exporter.
bool OlderExporter(const format::SideFacts& device);

// Place and number of a layer in the viewer.
uint32_t SortIndex(Layer layer, bool older, const CaptureFacts& facts);

// The number that the vendor gives a process of the timeline; device -1: the host.
inline uint64_t TimelinePid(int64_t pid, uint32_t sort_index, int device) {
  constexpr uint32_t kHost = 31;
  return (static_cast<uint64_t>(pid) << 10) | (sort_index << 5) |
         (device < 0 ? kHost : static_cast<uint32_t>(device));
}

}  // namespace profd::client
