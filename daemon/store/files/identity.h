// Whose rights a thread's file-system calls have.
#pragma once

#include <sys/types.h>

#include "base/status.h"

namespace profd::store {

// Sets the calling thread's file-system user and group and reads them back: setfsuid(2) itself reports no
// error.
base::Status SetFileIdentity(uid_t uid, gid_t gid);

// File access as somebody else, for its life. **Thread:** the one that made it. **Owns:** the thread's
// borrowed identity; gives it back.
class ActingAs {
 public:
  ActingAs(uid_t uid, gid_t gid) : status_(SetFileIdentity(uid, gid)) {}
  ActingAs(const ActingAs&) = delete;
  ActingAs& operator=(const ActingAs&) = delete;
  ~ActingAs();

  const base::Status& status() const { return status_; }

 private:
  const base::Status status_;
};

// Takes the calling thread out of all supplementary groups, so that a user's files get a user's rights only.
// The system call is used directly because the C library's wrapper changes every thread of the process.
base::Status DropSupplementaryGroups();

}  // namespace profd::store
