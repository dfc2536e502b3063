// analysis.db: steps, and what collectives took, by step.
#pragma once

#include <string>
#include <vector>

#include "client/export/db/sqlite_engine.h"
#include "client/export/framework/database/step_times.h"
#include "client/export/framework/join/links.h"

namespace profd::client::framework {

void WriteStepTimes(const std::vector<StepTime>& times, SqliteEngine& analysis);

// What `msprof --analyze` found out of the whole recording (communication_analyzer.db), in the step in which
// each operation began. Operations in no step are left out and counted.
uint64_t WriteCommunicationTables(SqliteEngine& analyzer, const std::vector<Step>& steps, bool as_vendor,
                                  SqliteEngine& analysis);

}  // namespace profd::client::framework
