// PROF directories as they were recorded, profd's or the vendor's: no export is needed.
#pragma once

#include <string>

#include "base/status.h"
#include "client/analyze/reading/rank_builder.h"

namespace profd::analyze {

base::Result<Part> ReadCapture(const std::string& path, bool keeps_all);

}  // namespace profd::analyze
