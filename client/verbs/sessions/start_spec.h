// What the options of `profctl start` ask a node for.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "client/verbs/sessions/start.h"

namespace profd::client {

// Repeated options mean the same as one with commas.
std::string WithCommas(const std::vector<std::string>& values);

base::Result<v1::SessionSpec> ParseSpec(const StartOptions& options);

}  // namespace profd::client
