// What the service manager (systemd) is told about this process, over the socket that it names in the
// environment; without one nothing happens.
#pragma once

#include <cstdint>
#include <string_view>

namespace profd::base {

// Lines of NAME=value as in sd_notify(3): "READY=1\nSTATUS=…". **Thread:** any.
void TellServiceManager(std::string_view lines);

// Before RELOADING=1 is over, systemd wants to know when it began.
void TellReloading();

// How often WATCHDOG=1 is expected; 0: never.
uint64_t WatchdogNs();

}  // namespace profd::base
