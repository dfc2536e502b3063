// A named thread with all signals blocked: signals belong to ctl.
#pragma once

#include <functional>
#include <string>
#include <thread>

namespace profd::base {

// `name` is cut to the kernel's 15 characters. `slack_ns` sets the timer slack (0 = leave the default of 50
// µs).
std::thread StartThread(std::string name, std::function<void()> body, unsigned long slack_ns = 0);

}  // namespace profd::base
