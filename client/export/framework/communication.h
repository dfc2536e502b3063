// communication.json and communication_matrix.json: what `msprof --analyze` found out of the whole recording,
// by step.
#pragma once

#include <vector>

#include "base/status.h"
#include "client/export/framework/tables.h"

namespace profd::client::framework {

// Of files that are not there nothing is made; those that are no JSON are reported.
base::Status WriteCommunication(const CannFiles& cann, const std::vector<Step>& steps, Results& results,
                                Report& report);

}  // namespace profd::client::framework
