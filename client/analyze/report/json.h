// findings.json, schema profd.findings/1 (docs/analyze.md).
#pragma once

#include <string>

#include "client/analyze/analysis.h"

namespace profd::analyze {

// The same input gives the same bytes.
std::string FindingsJson(const Analysis& analysis);

}  // namespace profd::analyze
