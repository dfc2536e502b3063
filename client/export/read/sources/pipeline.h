// From a capture to rows and spans: every stream through its decoder, in an order that outputs can rely on.
#pragma once

#include <set>
#include <string>

#include "client/export/read/capture.h"
#include "client/export/read/filter.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"
#include "client/export/read/sources/profile.h"
#include "format/events/spans.h"
#include "format/series.h"
#include "format/texts.h"

namespace profd::client {

// Where what is found goes, and what was not used. `texts` names what spans refer to.
struct Sinks {
  format::RowSink* rows = nullptr;
  format::SpanSink* spans = nullptr;
  ProfileSink* profile = nullptr;
  format::Texts* texts = nullptr;
  Report* report = nullptr;
  Progress* progress = nullptr;
  bool overlap = true;  // somebody wants spans of kOverlap
  // A kernel that a program has reported and the task of the device's log that it is are one span, not two.
  bool joins_kernels = true;
};

// The host, the devices by their numbers, then what agents recorded; the streams of each by name. Memory is
// bounded, whatever is in there.
void Decode(const Capture& capture, const Wanted& wanted, bool vendor_compatible, const Sinks& sinks);

// What --kinds can choose from it: kinds whose files are there and not empty.
std::set<std::string, std::less<>> KindsOf(const Capture& capture);

}  // namespace profd::client
