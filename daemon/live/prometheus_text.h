// Values in the text format that Prometheus scrapes. The only user of prometheus-cpp.
#pragma once

#include <string>

#include "daemon/live/values/metric.h"

namespace profd::live {

// Who scrapes is not known, only that they reach the address in the settings: `with_private` says whether
// that is enough for values of single processes and sessions.
// **Thread:** any.
std::string PrometheusText(const Snapshot& snapshot, bool with_private);

}  // namespace profd::live
