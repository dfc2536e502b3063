// host-cpu-profile and host-off-cpu: samples and the names of where they were.
#pragma once

#include <string_view>

#include "client/export/read/capture.h"
#include "client/export/read/filter.h"
#include "client/export/read/sinks.h"

namespace profd::client {

// Of profd/, and read by DecodeProfile.
bool IsProfileStream(std::string_view file);

// Gives every sample to sinks.profile; those on a CPU by function as sums to sinks.rows, waits as spans to
// sinks.spans. Names are those of the files that ran, where these are there and have not changed since.
void DecodeProfile(const Capture& capture, const Wanted& wanted, const Sinks& sinks);

}  // namespace profd::client
