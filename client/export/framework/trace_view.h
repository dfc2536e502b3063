// trace_view.json: calls of the framework, what msprof's timeline has, and arrows between the two.
#pragma once

#include <string>

#include "base/status.h"
#include "client/export/framework/input/calls.h"
#include "client/export/framework/input/cann.h"
#include "client/export/framework/input/folder.h"
#include "client/export/framework/join/links.h"
#include "client/export/write/output_file.h"

namespace profd::client::framework {

// `as_vendor`: GC of a folder without a device is of the process -1.
base::Status WriteTraceView(const Folder& folder, const Calls& calls, const CannFiles& cann,
                            const DeviceSide& device, const Links& links, bool as_vendor, OutputFile& file,
                            Report& report, Progress& progress);

}  // namespace profd::client::framework
