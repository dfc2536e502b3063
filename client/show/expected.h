// What a session is expected to write: before it starts, and as it does.
#pragma once

#include <string>
#include <vector>

#include "client/show/screen/table.h"
#include "profd/v1/session.pb.h"

namespace profd::client {

// Of all kinds whose rate is known.
double ExpectedBytesPerS(const v1::SessionInfo& info);
// One line with its end: "expected 1.9 MB/s, 6.8 GB an hour …"; empty: there is nothing to expect.
std::string ExpectedLine(const v1::SessionInfo& info);
// For `start --dry-run`: the line, then every kind with what all its units make together.
std::string RenderPlan(const v1::SessionInfo& info, const Look& look);
// The kinds that make more than 10 MB/s, all units together, and what to do; a line each.
std::vector<std::string> CostWarnings(const v1::SessionInfo& info);

}  // namespace profd::client
