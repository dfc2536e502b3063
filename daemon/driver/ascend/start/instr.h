// Instruction profiling: what the bus interface units (BIU) of the cores tell. A channel per core, by groups
// of one AI core and its two vector cores.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/driver/driver.h"
#include "daemon/driver/offers.h"

namespace profd::driver {

inline constexpr size_t kInstrGroups = 25, kCoresOfGroup = 3;

// Where a channel lies among those of all groups; nullopt: it is none of theirs.
std::optional<size_t> InstrIndex(uint32_t channel);
// What the vendor starts: every group; on a 950 three groups of each die, of cores at its begin, middle and
// end.
std::vector<ChannelUse> InstrChannels(const DeviceFacts& device);

// "cycles:1000": core clocks from one sample to the next.
inline constexpr std::string_view kCyclesMode = "cycles:";
base::Result<uint32_t> CyclesOf(std::string_view mode);
void PutInstr(StartPara& para, uint32_t channel, const DeviceFacts& device, std::string_view mode,
              uint32_t api_version);
// Samples per second that come of it; 0 where the core's clock is not known.
double InstrHz(const DeviceFacts& device, std::string_view mode);

}  // namespace profd::driver
