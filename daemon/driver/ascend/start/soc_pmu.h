// Counters of the chip that lie outside of its cores, read out at the end of every task (channels 47 and
// 134): which events, in words and in the bytes of a start.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/driver/driver.h"

namespace profd::driver {

// What the vendor counts to tell hits of a chip's L2 cache; empty where that is not known.
std::span<const uint16_t> L2CacheEvents(Chip chip);
std::string L2CacheText(std::span<const uint16_t> events);  // as sample.json has it

// Channel 134 counts for several units at once. A unit's number is that of its block in the start.
enum class SocUnit : uint16_t { kHa = 1, kSmmu = 2, kNoc = 3, kSmmuDfx = 4 };
struct SocEvents {
  SocUnit unit = SocUnit::kHa;
  std::vector<uint16_t> events;
};
using SocPmu = std::vector<SocEvents>;

// The mode that counts what tells hits of the L2 cache and of the address translation.
inline constexpr std::string_view kHitRates = "hit-rates";

// "HA:0x2,0x3;SMMU:0x10;NOC:0x1", or kHitRates. MATA is the newer name of HA.
base::Result<SocPmu> SocPmuOf(std::string_view mode, Chip chip);
// As it is started on a driver of this age. `mode`: one that SocPmuOf() takes.
SocPmu SocPmuOfStart(std::string_view mode, Chip chip, uint32_t api_version);
void PutSocPmu(StartPara& para, const SocPmu& groups);
// What a start counts: "HA:0xf6,0xfb;SMMU:0x2", and of that what HA counts: "0xf6,0xfb".
std::string SocPmuText(const StartPara& para);
std::string SocHaText(const StartPara& para);

}  // namespace profd::driver
