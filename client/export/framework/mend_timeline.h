// A trace_view.json that analyse() left without its end, which happens to small captures.
#pragma once

#include <string>

#include "base/status.h"
#include "client/export/framework/input/folder.h"
#include "client/export/framework/tables.h"

namespace profd::client::framework {

// All events that are whole, in a list that is closed. Without such a file nothing.
base::Status MendTimeline(const base::UniqueFd& results_folder, const std::string& name, Results& results,
                          Report& report, Progress& progress);

}  // namespace profd::client::framework
