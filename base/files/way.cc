#include "base/files/way.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/text.h"

namespace profd::base {

namespace {

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

UniqueFd BeginOf(const std::string& way) {
  return UniqueFd(::open(way.starts_with('/') ? "/" : ".", O_PATH | O_DIRECTORY | O_CLOEXEC));
}

bool IsOwn(const struct stat& found) { return found.st_uid == 0 || found.st_uid == ::geteuid(); }

// Where a folder is now, for a message.
std::string PlaceOf(const UniqueFd& folder) {
  char place[PATH_MAX];
  const std::string link = "/proc/self/fd/" + std::to_string(folder.get());
  const ssize_t bytes = ::readlink(link.c_str(), place, sizeof place);
  return bytes <= 0 ? "a folder on the way" : OneLine(std::string_view(place, static_cast<size_t>(bytes)));
}

Status Refused(const std::string& path, const UniqueFd& folder, const std::string& whose) {
  const std::string place = PlaceOf(folder);
  return {Code::kPermissionDenied, (place == path ? place : OneLine(path) + ": " + place) + " is " + whose +
                                       " to write to, who could lead it elsewhere: choose a folder that is "
                                       "root's alone, and all above it"};
}

// Of a folder whose entries are `path`'s next.
Status CheckFolder(const std::string& path, const UniqueFd& folder, const struct stat& found) {
  if (!IsOwn(found)) return Refused(path, folder, "user " + std::to_string(found.st_uid) + "'s");
  // In a sticky one nobody can replace what is not his, and what is somebody's is refused next.
  const bool everybodys = (found.st_mode & S_IWOTH) != 0 && (found.st_mode & S_ISVTX) == 0;
  return everybodys ? Refused(path, folder, "everybody's") : Status::Ok();
}

}  // namespace

Result<UniqueFd> OpenWay(const std::string& path, IfMissing missing, Trust trust) {
  UniqueFd at = BeginOf(path);
  struct stat found {};
  std::vector<std::string> names;
  PushNames(path, names);
  for (int links = 0; at;) {
    if (trust == Trust::kFolders) {
      if (::fstat(at.get(), &found) != 0) return Status::FromErrno("look at " + OneLine(path));
      PROFD_RETURN_IF_ERROR(CheckFolder(path, at, found));
    }
    if (names.empty()) return at;
    const std::string name = std::move(names.back());
    names.pop_back();
    const int made = missing == IfMissing::kFail || ::mkdirat(at.get(), name.c_str(), 0750) == 0 ? 0 : errno;
    UniqueFd next(::openat(at.get(), name.c_str(), O_PATH | O_NOFOLLOW | O_CLOEXEC));
    if (!next || ::fstat(next.get(), &found) != 0) {
      if (errno == ENOENT && made != 0) errno = made;  // why it is not there
      if (errno == ENOTDIR)
        return Status(Code::kInvalidArgument, OneLine(path) + ": a part of it is a file: name a directory");
      return Status::FromErrno((missing == IfMissing::kMake ? "create " : "open ") + OneLine(path));
    }
    if (!S_ISLNK(found.st_mode)) {
      at = std::move(next);
      continue;
    }
    if (!IsOwn(found))
      return Status(Code::kPermissionDenied, OneLine(path) + ": " + OneLine(name) + " is a link of user " +
                                                 std::to_string(found.st_uid) +
                                                 "'s: name the folder that is meant");
    char target[PATH_MAX];
    const ssize_t bytes = ::readlinkat(next.get(), "", target, sizeof target);
    if (++links > kMostLinks || bytes <= 0)
      return Status::FromErrno("open " + OneLine(path), bytes < 0 ? errno : ELOOP);
    const std::string way(target, static_cast<size_t>(bytes));
    if (way.starts_with('/')) at = BeginOf(way);
    PushNames(way, names);
  }
  return Status::FromErrno("open " + OneLine(path));
}

Status CheckPlaceOf(const std::string& file) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(file, error);
  if (error) return {Code::kInvalidArgument, OneLine(file) + ": " + error.message()};
  PROFD_ASSIGN_OR_RETURN(const UniqueFd folder,
                         OpenWay(path.parent_path(), IfMissing::kMake, Trust::kFolders));
  struct stat found {};
  if (::fstat(folder.get(), &found) != 0) return Status::FromErrno("look at the folder of " + OneLine(file));
  if ((found.st_mode & S_IWOTH) != 0) return Refused(path.parent_path(), folder, "everybody's");
  if (::fstatat(folder.get(), path.filename().c_str(), &found, AT_SYMLINK_NOFOLLOW) == 0 &&
      S_ISLNK(found.st_mode))
    return {Code::kInvalidArgument, OneLine(file) + " is a link: name the file itself"};
  return Status::Ok();
}

}  // namespace profd::base
