// The composition root: start order, stop order, nothing else.
#pragma once

#include "base/status.h"
#include "daemon/config/config.h"

namespace profd {

// Serves until SIGTERM or SIGINT; every session is sealed before it returns. Call once, from main.
base::Status RunDaemon(const config::Config& config);

}  // namespace profd
