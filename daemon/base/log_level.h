// The one setting of the log that may change while it runs.
#pragma once

#include <string_view>

#include "base/status.h"

namespace profd::base {

Status CheckLogLevel(std::string_view level);
// One that passes CheckLogLevel(). **Thread:** any.
void SetLogLevel(std::string_view level);

}  // namespace profd::base
