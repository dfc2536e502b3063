// How long devices computed, communicated and did nothing in each step: StepTraceTime of analysis.db.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/export/db/sqlite_engine.h"
#include "client/export/framework/database/launches.h"
#include "client/export/framework/input/calls.h"
#include "client/export/framework/join/links.h"

namespace profd::client::framework {

// Steps, and when the devices were at them: at what was launched in it. Without steps one is all there is,
// with the number -1. As the vendor's: by when CANN was called, not by when the operator did.
std::vector<Step> DeviceSteps(const Calls& calls, const Linked& linked, bool as_vendor, SqliteEngine& engine);

struct StepTime {
  int64_t device = 0, step = 0;
  // ns
  int64_t computing = 0, not_overlapped = 0, communication = 0, idle = 0, stage = 0, bubble = 0,
          preparing = 0;
};
// By device and step. An operator is in the first step in which it begins; as the vendor's in each, and what
// was merged with a receive counts as a bubble, too.
std::vector<StepTime> StepTimes(const Calls& calls, const std::vector<Step>& steps, bool as_vendor,
                                SqliteEngine& engine);

}  // namespace profd::client::framework
