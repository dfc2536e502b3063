// What a device can be asked for: kinds, the channels that serve them, their rates and modes.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/driver/driver.h"
#include "format/chip.h"
#include "format/device_files.h"
#include "format/kind.h"

namespace profd::driver {

struct RateRange {
  double min_hz = 0, max_hz = 0, default_hz = 0;  // all 0: the kind has no rate
  bool exists() const { return max_hz > 0; }
};

struct ChannelUse {
  uint32_t channel = 0;
  std::string_view file;  // below data/, without device and slice
};

// How one kind is had on some chips.
struct Capability {
  format::Kind kind = format::Kind::kHbm;
  format::ChipSet chips = {};
  std::array<ChannelUse, 8> wanted = {};  // ends with channel 0
  RateRange rate = {};
  std::span<const std::string_view> modes = {};  // the first is the default
  bool one_slice = false;                        // the vendor's reader keeps the last slice only
  bool late = false;                             // listed only after a process of the device registered it
  bool by_task = false;                          // of cores: counted by task, not by time
  bool needs_job = false;                        // refused as long as no compute process uses the device
  std::optional<format::DeviceFile> device_file =
      {};                        // … of the vendor's process on the device, which it needs
  std::string_view absent = {};  // why these chips do not have it after all
};

// A kind on one device.
struct Offer {
  const Capability* capability = nullptr;  // nullptr: the chip has no such kind
  std::vector<ChannelUse> channels;        // those the device has; late ones whether listed or not
  std::string reason;                      // why there are none
  bool available() const { return !channels.empty(); }
};

Offer LookUp(format::Kind kind, const DeviceFacts& device, uint32_t api_version);
// Rates and modes of a kind wherever it exists; nullptr for one that is of no device.
const Capability* AnyCapability(format::Kind kind);
// Whether what stands behind a mode's name can be counted on a device that has the kind.
base::Status CheckMode(format::Kind kind, std::string_view mode, const DeviceFacts& device);
// Whether two devices are run by one system, whose figures are the same for both.
bool ShareSystem(const DeviceFacts& a, const DeviceFacts& b);
bool Lists(const DeviceFacts& device, uint32_t channel);

}  // namespace profd::driver
