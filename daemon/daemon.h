// The composition root: start order, stop order, nothing else.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/config/config.h"

namespace profd {

// What profd would refuse of settings that can be read, before it does anything: one line that names the
// setting, else ok. Reads no more than the facts of files.
// `warnings`: what is taken, and should not be used.
base::Status CheckSettings(const config::Config& config, std::vector<std::string>* warnings);

// What profd is executed anew for, not by people: see host/process/nursery.h. Returns only where it cannot.
base::Status RunNursery(const std::string& heirlooms);

// Serves until SIGTERM or SIGINT; every session is sealed before it returns. `load` reads the settings anew,
// for SIGHUP. Both pass CheckSettings(). `pid_file` is there while it serves; "" = none. Call once, from
// main.
base::Status RunDaemon(config::Config config, std::function<base::Result<config::Config>()> load,
                       const std::string& pid_file);

}  // namespace profd
