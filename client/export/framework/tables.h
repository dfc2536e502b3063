// Tables of operators, kernels and steps, and those of msprof's that go on under another name.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "client/export/framework/input/calls.h"
#include "client/export/framework/input/cann.h"
#include "client/export/framework/input/folder.h"
#include "client/export/framework/join/links.h"
#include "client/export/framework/output/results.h"

namespace profd::client::framework {

// MindSpore's has names and shapes alone.
base::Status WriteOperatorDetails(const Folder& folder, const Calls& calls, const Tree& tree,
                                  const Links& links, Results& results);
// Of MindSpore the operator that launched a kernel is in front of its name.
base::Status WriteKernelDetails(const Folder& folder, const CannFiles& cann, const Calls& calls,
                                const DeviceSide& device, const Links& links, Results& results,
                                Report& report);
base::Status WriteStepTrace(const Folder& folder, const Calls& calls, const std::vector<Piece>& pieces,
                            const std::vector<Step>& steps, Results& results);
// Which ones: by the level of the profiler and what else it was asked for.
base::Status PassOn(const Folder& folder, const CannFiles& cann, Results& results, Report& report);

}  // namespace profd::client::framework
