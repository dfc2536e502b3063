// Copies a sealed directory of the spool to where it was asked for: slowly, so that a shared file system is
// not taken from the job, and so that what is there in the end is whole.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace profd::store {

// Copies `<spool>/<user>/<name>` into the open directory `to`, with the user's rights, at `bytes_per_second`
// at most (0 = as fast as it goes), reads the copy again and compares checksums, and gives it its name in the
// end. What an earlier attempt has copied is taken over when its checksums are right; all of it, when that
// has its name already. The original stays; nobody removes it meanwhile. Blocks on both disks: on a thread of
// its own, whose identity it changes and sets back, and whose priority it lowers for good.
base::Status CopyTrace(const std::string& spool, const std::string& user, const std::string& name, int to,
                       uint64_t bytes_per_second);

}  // namespace profd::store
