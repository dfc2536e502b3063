// Tasks of devices and the host's calls that launched them: the one place where several streams are read
// together.
#pragma once

#include <string_view>

#include "client/export/read/capture.h"
#include "client/export/read/filter.h"
#include "client/export/read/sinks.h"

namespace profd::client {

// Read by DecodeTasks, not by a decoder of their own; "" of others, else as --kinds names them.
std::string_view TaskStreamKind(const Side& side, std::string_view file);

// The kinds "task", "api" and "aicore-task". Reads the host's records in windows and every device's log as
// far as these reach, so memory is bounded. Where there are tasks the kernels that programs have reported are
// given out, too: those that are tasks with these, as one; true.
bool DecodeTasks(const Capture& capture, const Wanted& wanted, bool vendor_compatible, const Sinks& sinks);

}  // namespace profd::client
