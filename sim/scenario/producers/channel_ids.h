// Channel numbers of the driver, by what they carry.
#pragma once

#include <cstdint>

namespace profd::sim::channel {

inline constexpr uint32_t kHbm = 1, kPcie = 3, kNic = 4, kDvpp = 6, kDdr = 7, kLlc = 8, kHccs = 9,
                          kTscpu = 10;
inline constexpr uint32_t kAicore = 43, kTsfw = 44, kHwts = 45, kKeyPoint = 46, kL2 = 47, kStarsLog = 50;
inline constexpr uint32_t kStarsProfile = 52, kFftsTask = 53, kFftsSample = 54, kAiv = 85;
inline constexpr uint32_t kRoce = 129, kNpuAppMem = 130, kNpuMem = 131, kLowPower = 132, kQos = 133,
                          kSocPmu = 134;
inline constexpr uint32_t kDvppVenc = 135, kDvppScd = 141, kModuleMem = 142, kAicpu = 143, kCusAicpu = 144;
inline constexpr uint32_t kAdprof = 145, kUb = 146, kCcu0Instr = 147, kCcu0Stat = 148, kCcu1Instr = 149;
inline constexpr uint32_t kCcu1Stat = 151;

inline constexpr bool IsBiu(uint32_t id) {
  return (id >= 11 && id <= 42) || (id >= 55 && id <= 84) || (id >= 86 && id <= 98);
}
// By groups of three cores: AI core, two vector cores.
inline constexpr uint32_t BiuIndex(uint32_t id) { return id - (id <= 42 ? 11 : id <= 84 ? 23 : 24); }
inline constexpr bool IsCcu(uint32_t id) { return (id >= kCcu0Instr && id <= kCcu1Instr) || id == kCcu1Stat; }
// Produced by a process on the device; they appear when it registers them.
inline constexpr bool IsProcess(uint32_t id) { return id >= kAicpu && id <= kAdprof; }
// Started by the task-scheduler firmware: no sampling period of the driver's.
inline constexpr bool IsTaskScheduler(uint32_t id) { return (id >= 10 && id <= 127) || IsCcu(id); }
// Sampled by the driver on the device's control CPU (or, 142, on the host), once per period.
inline constexpr bool IsPeripheral(uint32_t id) {
  return !IsTaskScheduler(id) && id != kSocPmu && !IsProcess(id);
}

}  // namespace profd::sim::channel
