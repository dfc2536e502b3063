#include "daemon/store/files/user_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>

#include "daemon/store/files/file_system.h"
#include "format/mend/files.h"

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;
using mend::OpenDir;

Result<UserFolder> UserFolder::Enter(const std::string& spool, const std::string& user) {
  const uid_t me = ::geteuid();
  const UniqueFd top = OpenDir(AT_FDCWD, spool, me);
  struct stat found {};
  if (!top || ::fstat(top.get(), &found) != 0 || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Status(Code::kFailedPrecondition, spool + " is not profd's own");
  }
  UserFolder folder;
  folder.dir_.Reset(::openat(top.get(), user.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder.dir_ || ::fstat(folder.dir_.get(), &found) != 0) {
    return Status::FromErrno("open " + spool + "/" + user);
  }
  if (me != 0 && found.st_uid != me) return Status(Code::kPermissionDenied, user + " is another user's");
  folder.uid_ = found.st_uid;
  PROFD_RETURN_IF_ERROR(PosixFileSystem().BecomeOwner(found.st_uid, found.st_gid));
  folder.entered_ = true;
  return folder;
}

UserFolder::~UserFolder() {
  if (!entered_) return;
  // The thread ends soon; were it kept it would only have fewer rights.
  [[maybe_unused]] const Status back = PosixFileSystem().BecomeOwner(::geteuid(), ::getegid());
}

UserFolder::UserFolder(UserFolder&& other) noexcept
    : dir_(std::move(other.dir_)), uid_(other.uid_), entered_(std::exchange(other.entered_, false)) {}

}  // namespace profd::store
