// What the processes beside profd may hold in memory: as much as a user's programs make them read.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <vector>

namespace profd::host {

// With the rest of profd this is within MemoryMax of the unit.
inline constexpr uint64_t kMostOfUserBytes = 768ull << 20, kMostOfAllBytes = 1536ull << 20;

struct Weight {
  pid_t pid = 0;
  uid_t user = 0;  // whose processes it looks at
  uint64_t bytes = 0;
};

// Those that have to go where a user's, or all of them, hold too much: of the user whose hold the most the
// largest, until it is no more than that.
std::vector<pid_t> TooHeavy(std::vector<Weight> weights);

}  // namespace profd::host
