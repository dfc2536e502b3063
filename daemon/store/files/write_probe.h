// How fast a disk takes what is written, measured on a file without a name.
#pragma once

#include <sys/types.h>

#include "base/status.h"

namespace profd::store {

// Bytes per second, flushed to the platter. Writes at most 16 MiB in a quarter of a second, then waits for
// the flush: on a thread of its own, whose identity it changes and sets back. kUnimplemented: the file system
// knows no files without a name.
base::Result<double> ProbeWriteRate(int dir, uid_t uid, gid_t gid);

}  // namespace profd::store
