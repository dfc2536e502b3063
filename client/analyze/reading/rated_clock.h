// The clock that a device is made for, out of the info.json that lies near a database.
#pragma once

#include <string>

namespace profd::analyze {

// MHz; 0: nobody says. Of PROF_…/msprof_*.db in that directory, of *_ascend_pt/ASCEND_PROFILER_OUTPUT/*.db in
// the PROF directories beside it.
double RatedMhzNear(const std::string& database, int device);

}  // namespace profd::analyze
