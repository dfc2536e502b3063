// Views of all tables of the schema: of a job's rows, or of files that an export wrote.
#pragma once

#include <string>

#include "base/status.h"
#include "client/analyze/model/columns.h"
#include "client/lake/engine.h"

namespace profd::lake {

// Of a folder that export --format parquet wrote; false: it is none.
bool IsExported(const std::string& folder);
// Locks the engine to it.
base::Status ViewsOf(Engine& engine, const std::string& folder);
base::Status FillFrom(Engine& engine, const analyze::Job& job);

}  // namespace profd::lake
