// Whose log of tasks the vendor's activity library reads. Of other chips it says nothing but what the host
// calls, and its pages call them not supported. Source: Ascend/mspti, csrc/activity/ascend/dev_prof_task.cpp
// (kindToChannel_map_), docs/en/README.md.
#pragma once

#include "format/chip.h"

namespace profd::format {

inline constexpr ChipSet kKnownToMspti = Only({Chip::k910B, Chip::k310B, Chip::k950});

}  // namespace profd::format
