// Channels of the driver by the vendor's numbers, and what they can be told in words. Those that are told how
// often and no more are known to capabilities.cc alone.
#pragma once

#include <cstdint>
#include <string_view>

namespace profd::driver {

namespace channel {
inline constexpr uint32_t kHbm = 1;
inline constexpr uint32_t kNic = 4;
inline constexpr uint32_t kDdr = 7;
inline constexpr uint32_t kLlc = 8;
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
inline constexpr uint32_t kNpuModuleMem = 142;
inline constexpr uint32_t kAiCpu = 143;
inline constexpr uint32_t kCustomAiCpu = 144;
inline constexpr uint32_t kDeviceSystem = 145;  // of the vendor's process on the device, as files
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

// Modes of `task`, two of them joined by a '+': what its scheduler logs besides tasks.
inline constexpr std::string_view kTaskBlocks = "blocks";         // every block of every task
inline constexpr std::string_view kTaskFewBlocks = "few-blocks";  // a 950: as many as it thinks fit
inline constexpr std::string_view kTaskFirmware = "firmware";     // what its firmware does for itself
bool TaskModeHas(std::string_view mode, std::string_view part);

}  // namespace profd::driver
