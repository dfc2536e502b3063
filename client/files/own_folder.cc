#include "client/files/own_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>
#include <vector>

#include "client/words/text.h"

namespace profd::client {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

constexpr int kMostLinks = 40;  // as the kernel's

// What is to be walked, the next name last.
void PushNames(const std::string& path, std::vector<std::string>& names) {
  for (size_t end = path.size(); end != path.npos;) {
    const size_t slash = end == 0 ? path.npos : path.rfind('/', end - 1);
    const size_t begin = slash == path.npos ? 0 : slash + 1;
    if (begin < end) names.push_back(path.substr(begin, end - begin));
    end = slash;
  }
}

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
  const auto begin = [](const std::string& way) {
    return UniqueFd(::open(way.starts_with('/') ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
  };
  UniqueFd at = begin(path);
  std::vector<std::string> names;
  PushNames(path, names);
  for (int links = 0; at && !names.empty();) {
    const std::string name = std::move(names.back());
    names.pop_back();
    const int made = missing == IfMissing::kFail || ::mkdirat(at.get(), name.c_str(), 0750) == 0 ? 0 : errno;
    UniqueFd next(::openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    struct stat found {};
    if (!next || ::fstat(next.get(), &found) != 0) {
      if (errno == ENOENT && made != 0) errno = made;  // why it is not there
      if (errno == ENOTDIR)
        return Status(Code::kInvalidArgument, OneLine(path) + ": a part of it is a file: name a directory");
      if (errno == ENOENT && missing == IfMissing::kFail)
        return Status(Code::kNotFound,
                      OneLine(path) + ": there is no such folder: create it first, or name another");
      return Status::FromErrno(missing == IfMissing::kMake
                                   ? "create " + OneLine(path) + " (--out names another place)"
                                   : "open " + OneLine(path));
    }
    if (!S_ISLNK(found.st_mode)) {
      at = std::move(next);
      continue;
    }
    if (found.st_uid != 0 && found.st_uid != ::geteuid())
      return Status(Code::kPermissionDenied, OneLine(path) + ": " + OneLine(name) + " is a link of user " +
                                                 std::to_string(found.st_uid) +
                                                 "'s: name the folder that is meant");
    char target[PATH_MAX];
    const ssize_t bytes = ::readlinkat(next.get(), "", target, sizeof target);
    if (++links > kMostLinks || bytes <= 0)
      return Status::FromErrno("open " + OneLine(path), bytes < 0 ? errno : ELOOP);
    const std::string way(target, static_cast<size_t>(bytes));
    if (way.starts_with('/')) at = begin(way);
    PushNames(way, names);
  }
  if (!at) return Status::FromErrno("open " + OneLine(path));
  return at;
}

std::string PathOf(const UniqueFd& folder) { return "/proc/self/fd/" + std::to_string(folder.get()); }

}  // namespace profd::client
