// The processes of the vendor's timeline: areas of a device or the host, each a row of tracks in a viewer.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "client/export/write/output.h"

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
  kCcu,
  kUb,
  kOverlap,
  kOther,  // what the vendor's timeline does not have
};
inline constexpr size_t kLayers = static_cast<size_t>(Layer::kOther) + 1;

struct LayerInfo {
  std::string_view name;
  std::string_view kind;  // whose presence gives it a number in the older exporter; "" = its number is fixed
  uint8_t index;          // in the newer exporter (C++); kNoNumber: it does not show it
  uint8_t older_index;    // in the older one (Python), where it is fixed
  bool of_host;
};
inline constexpr uint8_t kNoNumber = 0xFF;
const LayerInfo& InfoOf(Layer layer);

// Whether the vendor makes this device's timeline with its older exporter.
bool OlderExporter(const format::SideFacts& device);

// Where a viewer shows a layer. The number has five bits in the vendor's processes; no two layers share one.
struct LayerPlace {
  uint32_t number = 0, sort_index = 0;
};
using LayerPlaces = std::array<LayerPlace, kLayers>;  // by Layer
LayerPlaces PlacesOf(bool older, const CaptureFacts& facts);

// The number that the vendor gives a process of the timeline; device -1: the host, whose device is 31.
// Devices from 31 on, which the vendor has no numbers for, lie above all of its numbers.
inline uint64_t TimelinePid(int64_t pid, uint32_t number, int device) {
  constexpr uint64_t kHost = 31;
  const uint64_t unit = device < 0 ? kHost : static_cast<uint64_t>(device) % kHost;
  const uint64_t above = device < 0 ? 0 : static_cast<uint64_t>(device) / kHost;
  return above << 32 | static_cast<uint64_t>(pid) << 10 | uint64_t{number} << 5 | unit;
}

}  // namespace profd::client
