// What CANN's modules are told to report. Sources: hicann/runtime, pkg_inc/profiling/aprof_pub.h and
// prof_api.h; how a module takes the command: hicann/opbase, ProfilingCallBack.
#pragma once

#include <cstdint>

#include "libagent/src/mspti/library.h"

namespace profd::agent::mspti {

// Of libprofapi.so's reports, as MsprofRegisterProfileCallback numbers them (prof_common.h).
enum Receiver : int {
  kCompactReports = 4,
  kAdditionalReports = 5,
  kCalls = 9,
  kEvents = 10,
  kTypeNames = 11,
  kTexts = 12,
  kDeviceStates = 16
};

enum Switch : uint64_t {
  kCallsOfAcl = 0x1,
  kTaskTimeL1 = 0x2,  // operators with what they work on
  kCollectives = 0x20,
  kCallsOfRuntime = 0x100,
  kTaskTime = 0x800,
  kTaskMemory = 0x1000,  // what the graph engine's operators take of a device's memory
  kTaskTimeL2 = 0x2000,  // … and their attributes (hicann/opbase, ProfilingCallBack)
  kTracks = 0x4000000
};

inline constexpr uint16_t kReportMagic = 0x5A5A;

// All modules begin or stop to report of a device. **Thread:** the worker.
void SwitchOn(const Library& library, uint32_t device, uint64_t switches);
void SwitchOff(const Library& library, uint32_t device, uint64_t switches);

}  // namespace profd::agent::mspti
