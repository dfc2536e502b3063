// What each chip can be asked for: kinds, the channels that serve them, their rates and modes. Tables, no
// state.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/driver/driver.h"
#include "format/chip.h"
#include "format/device_files.h"
#include "format/kind.h"

namespace profd::driver {

// The driver channels that profd starts, by the vendor's numbers.
namespace channel {
inline constexpr uint32_t kHbm = 1;
inline constexpr uint32_t kPcie = 3;
inline constexpr uint32_t kNic = 4;
inline constexpr uint32_t kDvpp = 6;
inline constexpr uint32_t kDdr = 7;
inline constexpr uint32_t kLlc = 8;
inline constexpr uint32_t kHccs = 9;
inline constexpr uint32_t kTsCpu = 10;
inline constexpr uint32_t kAiCore = 43;
inline constexpr uint32_t kTaskTrack = 44;  // what the task scheduler's firmware notes down
inline constexpr uint32_t kTaskLog = 45;    // of chips before STARS
inline constexpr uint32_t kL2Cache = 47;
inline constexpr uint32_t kStarsLog = 50;
inline constexpr uint32_t kSocProfile = 52;
inline constexpr uint32_t kCoreTask = 53;    // counters at the end of each task, of STARS chips
inline constexpr uint32_t kCoreSample = 54;  // AI cores and vector cores of STARS chips in one
inline constexpr uint32_t kAiVector = 85;
inline constexpr uint32_t kRoce = 129;
inline constexpr uint32_t kNpuAppMem = 130;
inline constexpr uint32_t kNpuMem = 131;
inline constexpr uint32_t kLowPower = 132;
inline constexpr uint32_t kQos = 133;
inline constexpr uint32_t kSocPmu = 134;
inline constexpr uint32_t kDvppVenc = 135;
inline constexpr uint32_t kDvppJpege = 136;
inline constexpr uint32_t kDvppVdec = 137;
inline constexpr uint32_t kDvppJpegd = 138;
inline constexpr uint32_t kDvppVpc = 139;
inline constexpr uint32_t kDvppPng = 140;
inline constexpr uint32_t kDvppScd = 141;
inline constexpr uint32_t kNpuModuleMem = 142;
inline constexpr uint32_t kAiCpu = 143;
inline constexpr uint32_t kCustomAiCpu = 144;
inline constexpr uint32_t kDeviceSystem = 145;  // of the vendor's process on the device, as files
inline constexpr uint32_t kUb = 146;
inline constexpr uint32_t kCcu0Missions = 147, kCcu0Channels = 148;  // collective units, by die
inline constexpr uint32_t kCcu1Missions = 149, kCcu1Channels = 151;
// Not the driver's: what the card library tells (port_counters.h), as a channel of ours.
inline constexpr uint32_t kPortCounters = 159;
}  // namespace channel

// From this driver API version on: measured counter frequencies; what processes of the device send through
// channels 143 to 145; AI CPU records of the 950 every 5 ms.
inline constexpr uint32_t kApiOscillator = 0x071905;
inline constexpr uint32_t kApiProcessChannels = 0x072316;
inline constexpr uint32_t kApiFastAiCpu = 0x072419;
inline constexpr uint32_t kApiTranslationRegisters = 0x07241a;

// Modes of soc-profile on a 950. kSocPower: with units only where kinds of theirs are collected, too.
inline constexpr std::string_view kSocPower = "power", kSocUnits = "units";

struct RateRange {
  double min_hz = 0, max_hz = 0, default_hz = 0;  // all 0: the kind has no rate
  bool exists() const { return max_hz > 0; }
};

struct ChannelUse {
  uint32_t channel = 0;
  std::string_view file;  // below data/, without device and slice
};

// Modes of `task`, two of them joined by a '+': what its scheduler logs besides tasks.
inline constexpr std::string_view kTaskBlocks = "blocks";         // every block of every task
inline constexpr std::string_view kTaskFewBlocks = "few-blocks";  // a 950: as many as it thinks fit
inline constexpr std::string_view kTaskFirmware = "firmware";     // what its firmware does for itself
bool TaskModeHas(std::string_view mode, std::string_view part);

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
// Whether two devices are run by one system, whose figures are the same for both.
bool ShareSystem(const DeviceFacts& a, const DeviceFacts& b);
// Position of a channel in the vendor's start order.
size_t StartRank(uint32_t channel);
bool Lists(const DeviceFacts& device, uint32_t channel);

}  // namespace profd::driver
