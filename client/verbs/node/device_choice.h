// Which devices a verb takes for itself, and for how long.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/cli/arguments.h"
#include "base/status.h"
#include "client/node/asking.h"
#include "client/node/control_client.h"

namespace profd::client {

struct DeviceChoice {
  std::string devices;  // as given; "" = all
  std::string lasts;
  bool force = false;

  bool IsGiven() const { return !devices.empty() || !lasts.empty() || force; }
};
void DefineDeviceChoice(cli::Arguments arguments, DeviceChoice* choice);

struct ChosenDevices {
  std::vector<uint32_t> devices;
  uint64_t for_ns = 0;
};
// Fails where a session or a job uses one of them, unless forced.
Asking<base::Result<ChosenDevices>> Choose(ControlClient& control, DeviceChoice choice);

}  // namespace profd::client
