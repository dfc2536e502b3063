// Kinds that a session was asked for by name and whose data are not there.
#pragma once

#include <string>
#include <vector>

#include "client/export/capture.h"
#include "client/export/filter.h"
#include "client/export/report.h"

namespace profd::client {

// Into the report, of those that are wanted: what was refused, was not ready in time, or has a rate and gave
// nothing.
void ReportMissingKinds(const Capture& capture, const Wanted& wanted, Report& report);

}  // namespace profd::client
