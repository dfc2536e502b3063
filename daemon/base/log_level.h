// The one setting of the log that may change while it runs.
#pragma once

#include <string_view>

namespace profd::base {

// One that StartLog() would take. **Thread:** any.
void SetLogLevel(std::string_view level);

}  // namespace profd::base
