#include "daemon/store/files/collect.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <string_view>
#include <utility>

#include "base/unique_fd.h"
#include "daemon/store/files/identity.h"

namespace profd::store {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

constexpr size_t kPieceBytes = 1 << 20;

bool EndsAsJson(int fd, uint64_t size) {
  std::array<char, 64> tail{};
  const uint64_t from = size < tail.size() ? 0 : size - tail.size();
  const ssize_t got = ::pread(fd, tail.data(), tail.size(), static_cast<off_t>(from));
  if (got <= 0) return false;
  const std::string_view text(tail.data(), static_cast<size_t>(got));
  const size_t last = text.find_last_not_of(" \t\r\n");
  return last != std::string_view::npos && (text[last] == '}' || text[last] == ']');
}

bool HasHoles(int fd, uint64_t size) {
  const off_t hole = ::lseek(fd, 0, SEEK_HOLE);
  return hole >= 0 && static_cast<uint64_t>(hole) < size;
}

Result<UniqueFd> OpenFolder(int to, const std::vector<std::string>& folders) {
  UniqueFd folder(::dup(to));
  for (const std::string& name : folders) {
    if (&name == &folders.back() && ::mkdirat(folder.get(), name.c_str(), 0750) != 0 && errno != EEXIST)
      return Status::FromErrno("make " + name);
    folder.Reset(::openat(folder.get(), name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!folder) return Status::FromErrno("open " + name);
  }
  return folder;
}

Status CheckRoom(const ShortOf& short_of, uint64_t bytes) {
  const std::string what = short_of(bytes);
  if (what.empty()) return Status::Ok();
  return {Code::kResourceExhausted, std::to_string(bytes) + " bytes more are not within " + what};
}

Status Copy(int from, int to, uint64_t bytes, const ShortOf& short_of) {
  std::string piece(kPieceBytes, '\0');
  for (uint64_t at = 0; at < bytes;) {
    PROFD_RETURN_IF_ERROR(CheckRoom(short_of, bytes - at));
    const ssize_t got = ::pread(from, piece.data(), piece.size(), static_cast<off_t>(at));
    if (got < 0) return Status::FromErrno("read it");
    if (got == 0) return {Code::kAborted, "it became shorter while it was read"};
    for (ssize_t written = 0; written < got;) {
      const ssize_t more = ::write(to, piece.data() + written, static_cast<size_t>(got - written));
      if (more < 0) return Status::FromErrno("write it");
      written += more;
    }
    at += static_cast<uint64_t>(got);
  }
  return Status::Ok();
}

Status Bring(int file, uint64_t bytes, int to, const std::vector<std::string>& folders, const std::string& as,
             FileOwner target, const ShortOf& short_of) {
  const ActingAs acting(target.uid, target.gid);
  PROFD_RETURN_IF_ERROR(acting.status());
  PROFD_ASSIGN_OR_RETURN(const UniqueFd folder, OpenFolder(to, folders));
  const std::string part = as + ".part";
  const UniqueFd made(
      ::openat(folder.get(), part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0640));
  if (!made) return Status::FromErrno("make " + part);
  Status status = Copy(file, made.get(), bytes, short_of);
  if (status.ok() && ::renameat(folder.get(), part.c_str(), folder.get(), as.c_str()) != 0)
    status = Status::FromErrno("name " + as);
  if (!status.ok()) ::unlinkat(folder.get(), part.c_str(), 0);
  return status;
}

}  // namespace

Result<Collected> CollectJson(int from, const std::string& name, FileOwner source, uint64_t seen_bytes,
                              int to, const std::vector<std::string>& folders, const std::string& as,
                              FileOwner target, const ShortOf& short_of) {
  Collected collected;
  UniqueFd file;
  struct stat found {};
  {
    const ActingAs acting(source.uid, source.gid);
    PROFD_RETURN_IF_ERROR(acting.status());
    file.Reset(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file && errno == ENOENT) return collected;
    if (!file || ::fstat(file.get(), &found) != 0) return Status::FromErrno("open " + name);
    if (!S_ISREG(found.st_mode) || found.st_uid != source.uid || found.st_nlink != 1)
      return Status(Code::kPermissionDenied, name + " is not a file of the program's own");
    collected.there = true;
    collected.bytes = static_cast<uint64_t>(found.st_size);
    if (collected.bytes != seen_bytes || !EndsAsJson(file.get(), collected.bytes)) return collected;
    if (HasHoles(file.get(), collected.bytes))
      return Status(Code::kInvalidArgument, name + " has holes, which no text has");
  }
  PROFD_RETURN_IF_ERROR(Bring(file.get(), collected.bytes, to, folders, as, target, short_of));
  collected.moved = true;
  const ActingAs acting(source.uid, source.gid);
  struct stat now {};
  if (acting.status().ok() && ::fstatat(from, name.c_str(), &now, AT_SYMLINK_NOFOLLOW) == 0 &&
      now.st_ino == found.st_ino && now.st_dev == found.st_dev)
    ::unlinkat(from, name.c_str(), 0);
  return collected;
}

}  // namespace profd::store
