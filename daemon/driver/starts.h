// How the channels of a device are started for what a session asks of it, and what their starts say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "daemon/driver/driver.h"
#include "daemon/driver/offers.h"
#include "format/directory/prof_dir.h"
#include "format/directory/side_facts.h"
#include "format/kind.h"

namespace profd::driver {

// A sampling period. Integer division, as the vendor computes it: 30 Hz is 33 ms.
struct Period {
  uint32_t ms = 0;
  uint32_t us = 0;
};
// Current kernels refuse less than 10 ms on peripheral channels, so `ms` is never below that.
Period PeriodOf(double hz);
// Samples per second that come of it; 0 of event-driven channels.
double EffectiveHz(uint32_t channel, const DeviceFacts& device, const Period& period,
                   std::string_view mode = {});

// A kind that a session has of a device, in a mode that CheckMode() took.
struct Asked {
  const Capability* capability = nullptr;
  std::string_view mode;
  Period period;
};
struct StartFacts {
  uint32_t api_version = 0;
  bool host_counter_known = false;  // stamps may be in cycles of it
  bool main_memory_anew = false;    // CountsMainMemoryAnew() of the toolkit found
};
// Of one of `all` kinds: some starts depend on what else is asked of the device.
StartPara StartOf(uint32_t channel, const Asked& asked, std::span<const Asked> all, const DeviceFacts& device,
                  const StartFacts& facts);
// Position of a channel in the vendor's start order.
size_t StartRank(uint32_t channel);
// Whether two starts of a channel ask for the same, but for the period.
bool SamePayload(uint32_t channel, const StartPara& a, const StartPara& b);
// It is no channel of the driver's: the port of a device is counted.
bool IsPort(uint32_t channel);

// Events of control and AI CPUs that the vendor's process on a device counts, as the vendor writes them:
// instructions that retired, cycles. The latter make the table of hot functions.
inline constexpr char kCpuEvents[] = "0x8,0x11";
// Whether the toolkit of this version ("" = none known) counts a 950's main memory by the events 0x422, 0x423
// and not by 0x400, 0x401: its analyser names only one of the pairs.
bool CountsMainMemoryAnew(std::string_view cann_version);

// What sample.json says of a channel beyond its switch and interval.
void NoteStart(uint32_t channel, const StartPara& para, format::Kind kind, std::string_view mode,
               const DeviceFacts& device, format::SampleSettings& settings);
// What a decoder of its records has to know.
void NoteStart(uint32_t channel, const StartPara& para, const DeviceFacts& device, format::SideFacts& side);

}  // namespace profd::driver
