// How many threads a command takes that was not told: one per core.
#pragma once

#include <algorithm>
#include <thread>

namespace profd::client {

inline unsigned OwnJobs() { return std::max(1u, std::thread::hardware_concurrency()); }

}  // namespace profd::client
