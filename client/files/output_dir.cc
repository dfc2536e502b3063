#include "client/files/output_dir.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <climits>
#include <filesystem>
#include <system_error>
#include <utility>

#include "client/files/own_folder.h"
#include "client/words/text.h"

namespace profd::client {

using base::Code;
using base::Status;

namespace {

constexpr char kPseudoFileSystem[] = "lies in a pseudo file system, which holds no files: choose another";

Status Refused(const std::string& path, const std::string& why, Code code = Code::kInvalidArgument) {
  return {code, "output directory '" + OneLine(path) + "': " + why};
}

bool IsPseudoFileSystem(int fd) {
  static constexpr std::array<uint64_t, 10> kPseudo{
      PROC_SUPER_MAGIC, SYSFS_MAGIC,  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC, DEBUGFS_MAGIC,
      TRACEFS_MAGIC,    BPF_FS_MAGIC, SECURITYFS_MAGIC,   DEVPTS_SUPER_MAGIC,  PSTOREFS_MAGIC};
  struct statfs found {};
  if (::fstatfs(fd, &found) != 0) return false;
  return std::find(kPseudo.begin(), kPseudo.end(), static_cast<uint64_t>(found.f_type)) != kPseudo.end();
}

// The last name of an absolute path.
std::string NameIn(const std::string& path) {
  return path.size() == 1 ? "." : path.substr(path.rfind('/') + 1);
}

Status Create(int above, const std::string& path) {
  if (::mkdirat(above, NameIn(path).c_str(), 0750) == 0 || errno == EEXIST)
    return Status::Ok();  // --hosts: another was first
  switch (errno) {
    case EACCES:
    case EPERM:
      return Refused(path, "you may not create it: choose a folder of your own", Code::kPermissionDenied);
    case EROFS:
      return Refused(path, "its file system is read-only: choose another", Code::kPermissionDenied);
    default:
      return Refused(path, std::string("cannot be created: ") + std::generic_category().message(errno));
  }
}

}  // namespace

base::Result<OutputDir> OpenOutputDir(const std::string& text) {
  if (text.empty()) return Refused(text, "expected a directory");
  if (!IsPlainText(text)) return Refused(text, "must be UTF-8 text without control characters");
  if (text.size() >= PATH_MAX) return Refused(text.substr(0, 64) + "…", "the path is too long");
  OutputDir dir;
  std::error_code error;
  dir.path = std::filesystem::absolute(text, error).lexically_normal();
  if (error) return Refused(text, "cannot be resolved: " + error.message());
  // A slash at the end would follow a symbolic link.
  while (dir.path.size() > 1 && dir.path.back() == '/') dir.path.pop_back();

  auto above = OpenWay(dir.path.substr(0, dir.path.rfind('/') + 1), IfMissing::kFail);
  if (!above.ok()) {
    switch (above.status().code()) {
      case Code::kNotFound:
        return Refused(dir.path, "its parent folder does not exist: create that first");
      case Code::kPermissionDenied:
        return Refused(dir.path, above.status().message(), Code::kPermissionDenied);
      default:
        return Refused(dir.path, above.status().message());
    }
  }
  dir.above = std::move(*above);
  const std::string name = NameIn(dir.path);
  struct stat found {};
  if (::fstatat(dir.above.get(), name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) {
    if (errno == ENOTDIR) return Refused(dir.path, "a part of the path is not a directory");
    if (errno == EACCES)
      return Refused(dir.path, "you may not look there: choose a directory of your own",
                     Code::kPermissionDenied);
    if (errno != ENOENT) return Refused(dir.path, std::generic_category().message(errno));
    if (IsPseudoFileSystem(dir.above.get())) return Refused(dir.path, kPseudoFileSystem);
    PROFD_RETURN_IF_ERROR(Create(dir.above.get(), dir.path));
    dir.created = true;
  } else if (S_ISLNK(found.st_mode)) {
    return Refused(dir.path, "is a symbolic link: name the directory itself");
  } else if (!S_ISDIR(found.st_mode)) {
    return Refused(dir.path, "is a file: name a directory, or one that is to be created");
  }
  dir.fd.Reset(::openat(dir.above.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!dir.fd) {
    const bool is_denied = errno == EACCES || errno == EPERM;
    return Refused(dir.path, std::string("cannot be opened: ") + std::generic_category().message(errno),
                   is_denied ? Code::kPermissionDenied : Code::kInvalidArgument);
  }
  if (IsPseudoFileSystem(dir.fd.get())) {
    return Refused(dir.path, kPseudoFileSystem);
  }
  if (::faccessat(dir.fd.get(), ".", W_OK | X_OK, AT_EACCESS) != 0) {
    const bool is_read_only = errno == EROFS;
    return Refused(dir.path,
                   is_read_only ? "its file system is read-only: choose another"
                                : "you may not write there: choose a directory of your own",
                   Code::kPermissionDenied);
  }
  return dir;
}

void DropOutputDir(const OutputDir& dir) {
  if (dir.created) ::unlinkat(dir.above.get(), NameIn(dir.path).c_str(), AT_REMOVEDIR);
}

}  // namespace profd::client
