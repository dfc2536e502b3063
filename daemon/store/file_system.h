// The file-system calls of the writer, behind an interface only so that tests can make a disk fill, fail or stall.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::store {

// All paths are relative to an open directory and are never followed through symbolic links.
// **Thread:** one writer thread at a time.
class FileSystem {
 public:
  virtual ~FileSystem() = default;

  // Runs the following calls as this owner until called again; a no-op when profd is not root.
  virtual base::Status BecomeOwner(uid_t uid, gid_t gid) = 0;
  // mkdirat + open of one component, mode 0750; kAlreadyExists when it is there.
  virtual base::Result<base::UniqueFd> MakeDir(int parent, const std::string& name) = 0;
  // O_CREAT|O_EXCL|O_NOFOLLOW, write only, mode 0640 whatever the umask.
  virtual base::Result<base::UniqueFd> CreateFile(int dir, const std::string& name) = 0;
  // Writes all or says what kept it from it; `*written` counts what reached the file either way.
  virtual base::Status Append(int fd, const void* data, size_t bytes, size_t* written) = 0;
  virtual base::Status Truncate(int fd, uint64_t bytes) = 0;
  virtual base::Status Rename(int dir, const std::string& from, const std::string& to) = 0;
  virtual base::Status Remove(int dir, const std::string& name) = 0;
  virtual base::Status Sync(int fd) = 0;
};

// The real one.
FileSystem& PosixFileSystem();

}  // namespace profd::store
