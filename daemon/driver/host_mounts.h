// Where the driver is called from. It takes a caller outside of the host's mount namespace who lacks one of
// some forty capabilities for a container, binds the devices to that namespace, and refuses them to every
// other (87). The protection of the file system by systemd is such a namespace. So the threads that call the
// driver live in the host's, whatever the others see.
#pragma once

#include <functional>
#include <string>
#include <thread>

#include "base/status.h"

namespace profd::driver {

// main, once, with all rights still there and before any other thread. Where profd is not in the host's mount
// namespace a thread enters it that others are started from, and runs `enter` once it is there. An error: it
// cannot be entered, and the driver's threads stay where profd is.
base::Status EnterHostMounts(const std::function<base::Status()>& enter);

// As base::StartThread(), in the host's mount namespace.
std::thread StartDriverThread(std::string name, std::function<void()> body);

}  // namespace profd::driver
