// The composition root: start order, stop order, nothing else.
#pragma once

#include <functional>

#include "base/status.h"
#include "daemon/config/config.h"

namespace profd {

// Serves until SIGTERM or SIGINT; every session is sealed before it returns. `load` reads the settings anew,
// for SIGHUP. Call once, from main.
base::Status RunDaemon(config::Config config, std::function<base::Result<config::Config>()> load);

}  // namespace profd
