// The frequency of the cores, which two files tell.
#pragma once

#include "format/series.h"

namespace profd::format {

// die: -1 where there is but one. The first row is the value at the collection's start, the others are
// changes.
inline const Series kCoreFreqSeries = {"core_freq", Kind::kLowPower, {"die"}, {{"freq", Unit::kHz}}};

}  // namespace profd::format
