// The clock and the cores that a device is made with, out of the info.json that lies near a database.
#pragma once

#include <string>

namespace profd::analyze {

struct MadeFor {
  double mhz = 0;                   // 0: nobody says
  int cores = 0, vector_cores = 0;  // AI cores, and those for vectors alone
};
// Of PROF_…/msprof_*.db in that directory, of *_ascend_pt/ASCEND_PROFILER_OUTPUT/*.db in
// the PROF directories beside it.
MadeFor MadeForNear(const std::string& database, int device);

}  // namespace profd::analyze
