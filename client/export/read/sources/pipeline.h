// From a capture to rows and spans: every stream through its decoder, in an order that outputs can rely on.
#pragma once

#include <set>
#include <string>

#include "client/export/read/capture.h"
#include "client/export/read/filter.h"
#include "client/export/read/sinks.h"

namespace profd::client {

// The host, the devices by their numbers, then what agents recorded; the streams of each by name. Memory is
// bounded, whatever is in there.
void Decode(const Capture& capture, const Wanted& wanted, bool vendor_compatible, const Sinks& sinks);

// What --kinds can choose from it: kinds whose files are there and not empty.
std::set<std::string, std::less<>> KindsOf(const Capture& capture);

}  // namespace profd::client
