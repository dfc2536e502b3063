// Whether a descriptor that came through the door is a directory its sender may write to: root's daemon must
// not be talked into writing where the caller could not.
#pragma once

#include <sys/types.h>

#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::auth {

struct Credentials {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  std::vector<gid_t> groups;
};

// A directory to write to, and who passed it.
struct PassedDir {
  base::UniqueFd fd;
  Credentials sender;
};

// Makes and removes a folder in it with the caller's identity on the calling thread: access lists, quotas,
// read-only and network file systems answer for themselves. May block on the file system: not on ctl.
base::Status ProbeOutputDir(int fd, const Credentials& caller);

}  // namespace profd::auth
