// Whose rights a thread's file-system calls have.
#pragma once

#include <sys/types.h>

#include "base/status.h"

namespace profd::store {

// Sets the calling thread's file-system user and group and reads them back: setfsuid(2) itself reports no
// error.
base::Status SetFileIdentity(uid_t uid, gid_t gid);

// Takes the calling thread out of all supplementary groups, so that a user's files get a user's rights only.
// The system call is used directly because the C library's wrapper changes every thread of the process.
base::Status DropSupplementaryGroups();

}  // namespace profd::store
