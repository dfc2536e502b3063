// A named thread with all signals blocked: signals belong to ctl.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <thread>

namespace profd::base {

// `name` is cut to the kernel's 15 characters. `slack_ns` sets the timer slack (0 = leave the default of 50
// µs).
std::thread StartThread(std::string name, std::function<void()> body, unsigned long slack_ns = 0);

// Asks for the calling thread, not for those it starts, to be scheduled in slices of this length: it waits
// less for others, and others less for it. Linux knows that from 6.12 on; an older one ignores it.
void PreferShortSlices(uint64_t slice_ns);

}  // namespace profd::base
