// Settings of a profd that runs.
#pragma once

#include <string>
#include <vector>

#include "daemon/config/config.h"

namespace profd::config {

struct Reload {
  std::vector<std::string> applied;     // "session.max_sessions: 128"
  std::vector<std::string> at_restart;  // changed, but what runs was made with them
};

// Takes over from `fresh` what counts for whatever begins from now on.
Reload ApplyLive(const Config& fresh, Config& running);

}  // namespace profd::config
