// What a program told profd's agent of itself, as its framework's profiler would have recorded it: ranges are
// operators, and steps are those of the profiler. And what PyTorch's own profiler has written of operators.
#pragma once

#include "client/export/framework/input/calls.h"

namespace profd::client::framework {

// Of the PROF directory in a folder without FRAMEWORK. Steps and ranges without an end are left out.
Calls ReadOwnCalls(const Folder& folder, Report& report, Progress& progress);

}  // namespace profd::client::framework
