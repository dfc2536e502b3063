// Kinds that a session was asked for by name and whose data are not there.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/export/read/capture.h"
#include "client/export/read/filter.h"
#include "client/export/read/report.h"

namespace profd::client {

// The scheduler's log and what programs report of their kernels need the same channels: where there is the
// second, tasks are not missing.
inline constexpr std::string_view kTasks = "task", kKernels = "agent-kernel", kAiCpu = "aicpu";

// "kind agent-kernel: no kernel for 8 s …": of which the recording noticed that they stopped coming.
std::vector<std::string> SilentKinds(const format::Manifest& manifest);

// Into the report, of those that are wanted: what was refused, was not ready in time, has a rate and gave
// nothing, or fell silent.
void ReportMissingKinds(const Capture& capture, const Wanted& wanted, Report& report);

}  // namespace profd::client
