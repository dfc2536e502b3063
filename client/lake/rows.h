// The rows of a job's tables.
#pragma once

#include "base/status.h"
#include "client/analyze/analysis.h"
#include "client/lake/engine.h"

namespace profd::lake {

// Views of all tables of the schema.
base::Status FillFrom(Engine& engine, const analyze::Analysis& analysis);

}  // namespace profd::lake
