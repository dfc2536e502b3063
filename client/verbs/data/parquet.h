// export --format parquet: the tables of a job, one file each (docs/lake.md).
#pragma once

#include "client/node/context.h"
#include "client/verbs/data/export.h"
#include "client/words/exit_code.h"

namespace profd::client {

ExitCode ExportParquet(const Context& context, const ExportArguments& arguments, unsigned jobs);

}  // namespace profd::client
