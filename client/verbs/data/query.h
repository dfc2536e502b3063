// profctl query, which msprof --query is, too.
#pragma once

#include <string>
#include <vector>

#include "client/node/context.h"

namespace profd::client {

ExitCode RunQuery(const Context& context, const std::vector<std::string>& directories);

}  // namespace profd::client
