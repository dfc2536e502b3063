#include "daemon/store/spool/spool.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <mutex>
#include <utility>

#include "base/files/way.h"
#include "daemon/store/files/identity.h"

namespace profd::store {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr char kSettings[] = "profd's spool (store.spool, --output-root)";
constexpr mode_t kSpoolMode = 0711;  // users reach their own folder and cannot list the others'
constexpr mode_t kUserMode = 0750;
constexpr mode_t kBothMode = 0770;    // while profd has to move it
constexpr char kNewFolder[] = "new";  // in profd's own

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

// Without slashes at the end, behind which a link would be followed.
std::filesystem::path PlaceOf(const std::string& spool) {
  return spool.substr(0, spool.find_last_not_of('/') + 1);
}

Status StatOf(int fd, const std::string& path, struct stat* found) {
  return ::fstat(fd, found) == 0 ? Status::Ok() : Status::FromErrno("stat " + path);
}

// What the user has made becomes their group's, too.
Status HandOver(int dir, uid_t uid, gid_t gid, const std::string& path) {
  const ActingAs user(uid, gid);
  PROFD_RETURN_IF_ERROR(user.status());
  if (::fchown(dir, static_cast<uid_t>(-1), gid) != 0 || ::fchmod(dir, kUserMode) != 0)
    return Status::FromErrno("make directory " + path);
  return Status::Ok();
}

// To give a folder away takes CAP_CHOWN. So it is made as the user: in a folder that all may write and nobody
// reaches, from where profd moves it to its place, which it may as the folder is of its group.
Result<UniqueFd> MakeAs(int top, const std::string& user, uid_t uid, gid_t gid, const std::string& path) {
  bool made = false;
  PROFD_ASSIGN_OR_RETURN(const UniqueFd closed,
                         OpenOrMake(top, kPrivateFolder, path, IfMissing::kMake, &made));
  PROFD_ASSIGN_OR_RETURN(const UniqueFd open,
                         OpenOrMake(closed.get(), kNewFolder, path, IfMissing::kMake, &made));
  if (::fchmod(closed.get(), 0700) != 0 || ::fchmod(open.get(), 0733) != 0)
    return Status::FromErrno("make directory " + path);
  UniqueFd dir;
  {
    const ActingAs user_there(uid, ::getegid());
    PROFD_RETURN_IF_ERROR(user_there.status());
    PROFD_ASSIGN_OR_RETURN(dir, OpenOrMake(open.get(), user, path, IfMissing::kMake, &made));
    if (::fchmod(dir.get(), kBothMode) != 0) return Status::FromErrno("make directory " + path);
  }
  if (::renameat2(open.get(), user.c_str(), top, user.c_str(), RENAME_NOREPLACE) != 0)
    return Status::FromErrno("make directory " + path);
  PROFD_RETURN_IF_ERROR(HandOver(dir.get(), uid, gid, path));
  return dir;
}

}  // namespace

Result<UniqueFd> OpenAboveSpool(const std::string& spool) {
  Result<UniqueFd> above =
      base::OpenWay(PlaceOf(spool).parent_path(), IfMissing::kFail, base::Trust::kFolders);
  if (!above.ok()) return above.status().In(kSettings);
  return above;
}

Result<UniqueFd> OpenSpoolFor(const std::string& spool, uid_t uid, gid_t gid, const std::string& user,
                              IfMissing missing) {
  if (user.empty() || user == "." || user == ".." || user.find('/') != std::string::npos) {
    return Status(Code::kInvalidArgument, "'" + user + "' cannot be the name of a spool folder");
  }
  // Where sessions begin at once, one makes what is missing and the others find it.
  static std::mutex making;
  const std::lock_guard lock(making);
  bool made = false;
  PROFD_ASSIGN_OR_RETURN(const UniqueFd above, OpenAboveSpool(spool));
  Result<UniqueFd> opened = OpenOrMake(above.get(), PlaceOf(spool).filename(), spool, missing, &made);
  if (!opened.ok()) return opened.status().In(kSettings);
  const UniqueFd top = std::move(opened).value();
  if (made && ::fchmod(top.get(), kSpoolMode) != 0) return Status::FromErrno("chmod " + spool);
  struct stat found {};
  PROFD_RETURN_IF_ERROR(StatOf(top.get(), spool, &found));
  if (found.st_uid != ::geteuid() || (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Status(
        Code::kFailedPrecondition,
        "spool " + spool + " must belong to the user that runs profd and be writable by nobody else");
  }

  const std::string path = spool + "/" + user;
  auto dir = OpenOrMake(top.get(), user, path, IfMissing::kFail, &made);
  if (dir.ok()) {
    PROFD_RETURN_IF_ERROR(StatOf(dir->get(), path, &found));
    if (found.st_uid == uid) {
      // profd was stopped half-way through MakeAs().
      if ((found.st_mode & 07777) == kBothMode && found.st_gid == ::getegid())
        PROFD_RETURN_IF_ERROR(HandOver(dir->get(), uid, gid, path));
      return dir;
    }
    // An empty one of profd's was begun by a version that gave it away afterwards.
    if (found.st_uid != ::geteuid() || ::unlinkat(top.get(), user.c_str(), AT_REMOVEDIR) != 0) {
      return Status(Code::kFailedPrecondition, path + " belongs to user " + std::to_string(found.st_uid) +
                                                   ", not to " + user + ": remove it");
    }
  } else if (dir.status().code() != Code::kNotFound || missing == IfMissing::kFail) {
    return dir;
  }
  return MakeAs(top.get(), user, uid, gid, path);
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
               static_cast<uint64_t>(space.f_blocks) * space.f_frsize, space.f_favail, space.f_files};
}

uint64_t RoomIn(const Space& space, uint64_t keep_bytes) {
  constexpr uint64_t kMostFiles = 10'000;
  if (space.total_files == 0) return space.free_bytes;
  const uint64_t keep = std::clamp<uint64_t>(space.total_files / 16, 1, kMostFiles);
  if (space.free_files / keep >= 2) return space.free_bytes;
  return std::min(space.free_bytes, keep_bytes / keep * space.free_files);
}

}  // namespace profd::store
