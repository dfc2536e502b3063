// What reading a capture gives out.
#pragma once

#include "client/export/read/profile.h"
#include "client/export/read/report.h"
#include "client/export/read/slices.h"
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

}  // namespace profd::client
