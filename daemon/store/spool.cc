#include "daemon/store/spool.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "daemon/store/identity.h"

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr mode_t kSpoolMode = 0711;  // users reach their own folder and cannot list the others'
constexpr mode_t kUserMode = 0750;

// Opens `name` in `parent`. Where a missing one is to be made it has mode 0700 until the caller has given it
// away.
Result<UniqueFd> OpenOrMake(int parent, const std::string& name, const std::string& path, IfMissing missing,
                            bool* made) {
  *made = missing == IfMissing::kMake && ::mkdirat(parent, name.c_str(), 0700) == 0;
  if (missing == IfMissing::kMake && !*made && errno != EEXIST) {
    return Status::FromErrno("make directory " + path);
  }
  UniqueFd dir(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (dir) return dir;
  if (errno == ENOTDIR || errno == ELOOP) return Status(Code::kInvalidArgument, path + " is not a directory");
  return Status::FromErrno("open directory " + path);
}

Status StatOf(int fd, const std::string& path, struct stat* found) {
  return ::fstat(fd, found) == 0 ? Status::Ok() : Status::FromErrno("stat " + path);
}

}  // namespace

Result<UniqueFd> OpenSpoolFor(const std::string& spool, uid_t uid, gid_t gid, const std::string& user,
                              IfMissing missing) {
  if (user.empty() || user == "." || user == ".." || user.find('/') != std::string::npos) {
    return Status(Code::kInvalidArgument, "'" + user + "' cannot be the name of a spool folder");
  }
  bool made = false;
  PROFD_ASSIGN_OR_RETURN(const UniqueFd top, OpenOrMake(AT_FDCWD, spool, spool, missing, &made));
  if (made && ::fchmod(top.get(), kSpoolMode) != 0) return Status::FromErrno("chmod " + spool);
  struct stat found {};
  PROFD_RETURN_IF_ERROR(StatOf(top.get(), spool, &found));
  if (found.st_uid != ::geteuid() || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Status(
        Code::kFailedPrecondition,
        "spool " + spool + " must belong to the user that runs profd and be writable by nobody else");
  }

  const std::string path = spool + "/" + user;
  PROFD_ASSIGN_OR_RETURN(UniqueFd dir, OpenOrMake(top.get(), user, path, missing, &made));
  PROFD_RETURN_IF_ERROR(StatOf(dir.get(), path, &found));
  if (found.st_uid == uid && !made) return dir;
  // Only profd can have made it, if it is profd's: now, or before it was stopped half-way through this.
  if (found.st_uid != ::geteuid()) {
    return Status(Code::kFailedPrecondition, path + " belongs to user " + std::to_string(found.st_uid) +
                                                 ", not to " + user + ": remove it");
  }
  if (::fchmod(dir.get(), kUserMode) != 0) return Status::FromErrno("chmod " + path);
  if (::fchown(dir.get(), uid, gid) != 0) return Status::FromErrno("give " + path + " to " + user);
  return dir;
}

Status CheckOutputDir(int fd) {
  struct stat found {};
  struct statfs where {};
  if (::fstat(fd, &found) != 0 || ::fstatfs(fd, &where) != 0) return Status::FromErrno("output directory");
  if (!S_ISDIR(found.st_mode)) return {Code::kInvalidArgument, "the output is not a directory"};
  constexpr std::array<unsigned long, 7> kNotForFiles = {
      PROC_SUPER_MAGIC, SYSFS_MAGIC,   CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
      DEBUGFS_MAGIC,    TRACEFS_MAGIC, DEVPTS_SUPER_MAGIC};
  if (std::find(kNotForFiles.begin(), kNotForFiles.end(), static_cast<unsigned long>(where.f_type)) !=
      kNotForFiles.end()) {
    return {Code::kInvalidArgument, "the output directory is on a file system of the kernel (proc, sysfs …)"};
  }
  return Status::Ok();
}

Result<Space> SpaceOf(int fd) {
  struct statvfs space {};
  if (::fstatvfs(fd, &space) != 0) return Status::FromErrno("ask for free space");
  return Space{static_cast<uint64_t>(space.f_bavail) * space.f_frsize,
               static_cast<uint64_t>(space.f_blocks) * space.f_frsize};
}

}  // namespace profd::store
