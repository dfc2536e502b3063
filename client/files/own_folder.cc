#include "client/files/own_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

Status Refused(const std::string& shown, const std::string& why) {
  return {Code::kPermissionDenied, OneLine(shown) + ": " + why + "; somebody else may have put it there: " +
                                       "remove it, or name a folder of your own with --out"};
}

}  // namespace

Result<UniqueFd> OpenOwnFolder(int parent, const std::string& name, const std::string& shown,
                               FolderOwner owner) {
  const int made = ::mkdirat(parent, name.c_str(), 0750) == 0 ? 0 : errno;
  UniqueFd folder(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!folder) {
    if (errno == ELOOP || errno == ENOTDIR) return Refused(shown, "is a link or a file, not a folder");
    if (errno == ENOENT && made != 0) errno = made;  // why it is not there
    return Status::FromErrno("create " + OneLine(shown));
  }
  struct stat found {
  }, above{};
  if (::fstat(folder.get(), &found) != 0) return Status::FromErrno("look at " + OneLine(shown));
  if (owner == FolderOwner::kCaller && (found.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return Refused(shown, "others may write there");
  }
  const bool is_parents =
      owner == FolderOwner::kCallerOrParent && ::fstat(parent, &above) == 0 && found.st_uid == above.st_uid;
  if (found.st_uid != ::geteuid() && !is_parents) {
    return Refused(shown, "belongs to user " + std::to_string(found.st_uid));
  }
  return folder;
}

Result<UniqueFd> OpenOwnFolders(int parent, const std::string& path, const std::string& shown) {
  UniqueFd folder;
  for (size_t begin = 0, end; begin <= path.size(); begin = end + 1) {
    end = std::min(path.find('/', begin), path.size());
    const int above = folder ? folder.get() : parent;
    PROFD_ASSIGN_OR_RETURN(UniqueFd next, OpenOwnFolder(above, path.substr(begin, end - begin),
                                                        shown + "/" + path.substr(0, end)));
    folder = std::move(next);
  }
  return folder;
}

Result<UniqueFd> OpenWay(const std::string& path, IfMissing missing) {
  Result<UniqueFd> folder = base::OpenWay(path, missing, base::Trust::kLinks);
  if (folder.ok() || missing == IfMissing::kFail) return folder;
  return Status(folder.status().code(), folder.status().message() + " (--out names another place)");
}

std::string PathOf(const UniqueFd& folder) { return "/proc/self/fd/" + std::to_string(folder.get()); }

}  // namespace profd::client
