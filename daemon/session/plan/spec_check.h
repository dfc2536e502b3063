// What a session may ask for, whatever the node has.
#pragma once

#include "base/status.h"
#include "daemon/config/config.h"
#include "daemon/session/plan/types.h"

namespace profd::session {

// What a client calls the newest session of its own; no session has it as its name.
constexpr char kNewestSession[] = "last";

// Fills in what was left out and says what is too much.
base::Status CheckSpec(SessionSpec& spec, const config::Config& config);

}  // namespace profd::session
