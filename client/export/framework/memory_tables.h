// Memory of devices: what operators took of it, and how much was in use over time.
#pragma once

#include "base/status.h"
#include "client/export/framework/tables.h"

namespace profd::client::framework {

// What the framework's allocator gave out, with the operator that asked; behind it CANN's.
base::Status WriteOperatorMemory(const Folder& folder, const Calls& calls, const Tree& tree,
                                 const CannFiles& cann, Results& results, Report& report);
// The process's, the framework's (PTA), CANN's (GE), and the sum of these two.
base::Status WriteMemoryRecord(const Folder& folder, const Calls& calls, const CannFiles& cann,
                               Results& results, Report& report);

}  // namespace profd::client::framework
