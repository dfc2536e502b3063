// Databases of profilers: the collector's msprof_*.db, profctl's, the framework's
// ascend_pytorch_profiler_N.db (their tables: docs of Ascend/msprof, "db format";
// client/export/db_span_tables.cc writes them).
#pragma once

#include <string>

#include "base/status.h"
#include "client/analyze/reading/rank_builder.h"

namespace profd::analyze {

// Tables that are missing, rows that make no sense, torn pages: notes. `is_of_rank`: by its name; nothing of
// a device in it is a loss then.
base::Result<Part> ReadDatabase(const std::string& path, bool keeps_all, bool is_of_rank);

}  // namespace profd::analyze
