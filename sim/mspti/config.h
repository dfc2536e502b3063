// The section `mspti` of the simulator's YAML file, see docs/simulator.md.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "format/chip.h"
#include "sim/hal/config.h"
#include "sim/mspti/abi.h"

namespace profd::sim::mspti {

// Chips whose log of tasks libmspti.so reads. Of others it has no table of channels: it says so in its log,
// and tells what the host does all the same. Source: Ascend/mspti, csrc/activity/ascend/dev_prof_task.cpp,
// kindToChannel_map_.
inline constexpr format::ChipSet kKnownToMspti =
    format::Only({format::Chip::k910B, format::Chip::k310B, format::Chip::k950});

struct MsptiConfig {
  bool auto_devices = false;            // the process has set all its devices
  std::array<uint32_t, kKinds> rate{};  // records per second and device; 0 = as the training job says
  bool busy = false;                    // somebody subscribed before us
  double collects_from_s = -1;  // since it was loaded the vendor's collector records the program; < 0: never
  uint32_t unknown_every = 0;   // so many kernels, then a record of a kind nobody knows
  bool larger_kernels = false;  // kernel records of 64 bytes
  bool odd_texts = false;       // NULL, "", 4 KiB, not UTF-8
  bool free_texts = false;      // Unsubscribe takes the texts away
  uint32_t missing_every = 0;   // communication records and device markers that never come
  uint32_t silent_after = 0;    // so many kernels, then no device record any more
  uint32_t drop_every = 0;      // records that get lost inside
  uint32_t late_ms = 0;         // kernels still come so long after Disable
  uint32_t complete_jitter_us = 0;  // of the threads that hand buffers over
  uint32_t disable_ms = 20;         // Disable: of each device channel
  uint32_t unsubscribe_ms = 0;
  double resync_s = 7;               // the clock's pairs
  int64_t clock_step_us = 0;         // added at odd resyncs, taken back at even ones
  double jump_s = 0, jump_at_s = 0;  // the wall clock's
  int64_t device_offset_ns = 0;
  std::string truth;
};

struct Configs {
  Config node;  // of the simulated driver: devices, seed, scenario
  MsptiConfig mspti;
};

// A file that cannot be used is reported on stderr and yields no devices.
Configs LoadConfigs(const char* file);

const char* KindName(uint32_t kind);

}  // namespace profd::sim::mspti
