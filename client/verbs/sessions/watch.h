// Whether the devices and processes that somebody asked for by number can have live values.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/node/control_client.h"

namespace profd::client {

// kNotFound: one of them has none, and what to do.
base::Status AreThere(const std::vector<std::string>& devices, const std::vector<std::string>& pids,
                      ControlClient& control);

}  // namespace profd::client
