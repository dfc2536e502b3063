// Why a kind has no value at this moment.
#pragma once

#include <vector>

#include "daemon/driver/driver.h"
#include "daemon/live/values/metric.h"

namespace profd::live {

// What profd has of a kind, besides samples.
struct Circumstances {
  bool off = false;     // by the settings
  bool saves = false;   // by the limits
  bool held = false;    // its channels are held for values (live.channels)
  bool driver = false;  // there is a driver, with `devices`
  bool known = true;    // the devices have been asked once
  const std::vector<driver::DeviceFacts>* devices = nullptr;
  uint32_t api_version = 0;
};

Lack LackOf(std::string_view kind, const Circumstances& circumstances);

}  // namespace profd::live
