#include "daemon/store/files/file_system.h"

#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <optional>
#include <utility>

#include "daemon/store/files/identity.h"

namespace profd::store {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

constexpr mode_t kDirMode = 0750;
constexpr mode_t kFileMode = 0640;

Status CheckName(const std::string& name) {
  if (!name.empty() && name != "." && name != ".." && name.find('/') == std::string::npos &&
      name.find('\0') == std::string::npos) {
    return {};
  }
  return {Code::kInvalidArgument, "'" + name + "' is not a file name"};
}

Status WriteAt(int fd, const std::byte* data, size_t bytes, uint64_t offset) {
  while (bytes > 0) {
    const ssize_t written = ::pwrite(fd, data, bytes, static_cast<off_t>(offset));
    if (written < 0) {
      if (errno == EINTR) continue;
      return Status::FromErrno("write");
    }
    if (written == 0) return {Code::kInternal, "write: the file takes no more bytes"};
    data += written;
    bytes -= static_cast<size_t>(written);
    offset += static_cast<uint64_t>(written);
  }
  return {};
}

// To make a file takes a file system up to a fraction of a millisecond, and a trace begins with twenty.
// Whoever waits for this core meanwhile, perhaps the very thread that is to be recorded, would wait for all
// of them. Errors are left as they are.
void LetOthersRun() {
  const int error = errno;
  ::sched_yield();
  errno = error;
}

class Posix final : public FileSystem {
 public:
  Status BecomeOwner(uid_t uid, gid_t gid) override {
    thread_local bool groups_dropped = false;
    thread_local std::optional<std::pair<uid_t, gid_t>> owner;
    if (owner == std::pair(uid, gid) || ::geteuid() != 0) return {};
    owner.reset();
    if (uid != 0 && !groups_dropped) {
      PROFD_RETURN_IF_ERROR(DropSupplementaryGroups());
      groups_dropped = true;
    }
    PROFD_RETURN_IF_ERROR(SetFileIdentity(uid, gid));
    owner.emplace(uid, gid);
    return {};
  }

  Result<UniqueFd> MakeDir(int parent, const std::string& name) override {
    PROFD_RETURN_IF_ERROR(CheckName(name));
    if (::mkdirat(parent, name.c_str(), kDirMode) != 0) return Status::FromErrno("mkdir");
    LetOthersRun();
    UniqueFd dir(::openat(parent, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (dir && ::fchmod(dir.get(), kDirMode) == 0) return dir;
    const Status failed = Status::FromErrno(dir ? "chmod" : "open");
    ::unlinkat(parent, name.c_str(), AT_REMOVEDIR);
    return failed;
  }

  Result<UniqueFd> CreateFile(int dir, const std::string& name) override {
    PROFD_RETURN_IF_ERROR(CheckName(name));
    UniqueFd file(
        ::openat(dir, name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, kFileMode));
    LetOthersRun();
    if (!file) return Status::FromErrno("create");
    if (::fchmod(file.get(), kFileMode) == 0) return file;
    const Status failed = Status::FromErrno("chmod");
    ::unlinkat(dir, name.c_str(), 0);
    return failed;
  }

  Result<UniqueFd> OpenFile(int dir, const std::string& name) override {
    PROFD_RETURN_IF_ERROR(CheckName(name));
    // Not blocking: the directory may be its user's, who may have put a FIFO here.
    UniqueFd file(::openat(dir, name.c_str(), O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    if (!file) return Status::FromErrno("open");
    struct stat found {};
    if (::fstat(file.get(), &found) != 0) return Status::FromErrno("stat");
    if (!S_ISREG(found.st_mode)) return Status(Code::kInvalidArgument, "open: no longer a regular file");
    return file;
  }

  // A SIGKILL ends a running write(2) between two pages. A file that then ends inside a record is garbage
  // from its first byte to the vendor's reader, which aligns to the end. So of what must not be cut at a
  // page's edge, the part in the last page, which is written whole or not at all, goes first: it gives the
  // file its new size, and a kill can only leave zeros before it.
  Status Append(int fd, uint64_t size, const void* data, size_t bytes, size_t at_once) override {
    static const auto page = static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
    const auto* from = static_cast<const std::byte*>(data);
    if (at_once > 0) {
      at_once = std::min(at_once, bytes);
      PROFD_RETURN_IF_ERROR(WriteAt(fd, from, at_once, size));
      from += at_once;
      size += at_once;
      bytes -= at_once;
    }
    if (bytes == 0) return {};
    const uint64_t last_page = (size + bytes - 1) / page * page;
    const size_t head = last_page > size ? static_cast<size_t>(last_page - size) : 0;
    PROFD_RETURN_IF_ERROR(WriteAt(fd, from + head, bytes - head, size + head));
    return WriteAt(fd, from, head, size);
  }

  Status Overwrite(int fd, uint64_t offset, const void* data, size_t bytes) override {
    return WriteAt(fd, static_cast<const std::byte*>(data), bytes, offset);
  }

  Status Reserve(int fd, uint64_t bytes) override {
    if (::fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, static_cast<off_t>(bytes)) == 0) return {};
    if (errno == EOPNOTSUPP || errno == ENOSYS) return {};
    return Status::FromErrno("reserve");
  }

  Status Exchange(int dir, const std::string& one, const std::string& other) override {
    PROFD_RETURN_IF_ERROR(CheckName(one));
    PROFD_RETURN_IF_ERROR(CheckName(other));
    if (::renameat2(dir, one.c_str(), dir, other.c_str(), RENAME_EXCHANGE) == 0) return {};
    if (errno == EINVAL || errno == ENOSYS || errno == EOPNOTSUPP) {
      return {Code::kUnimplemented, "exchange: the file system cannot"};
    }
    return Status::FromErrno("exchange");
  }

  Status Truncate(int fd, uint64_t bytes) override {
    if (::ftruncate(fd, static_cast<off_t>(bytes)) != 0) return Status::FromErrno("truncate");
    return {};
  }

  void WriteBack(int fd) override {
    ::sync_file_range(fd, 0, 0,
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
  }

  // What is appended to the last page next would have to be read first, were it gone.
  void Evict(int fd) override {
    static const auto page = static_cast<off_t>(::sysconf(_SC_PAGESIZE));
    struct stat facts {};
    if (::fstat(fd, &facts) != 0 || facts.st_size < page) return;  // length 0 would be all
    ::posix_fadvise(fd, 0, facts.st_size / page * page, POSIX_FADV_DONTNEED);
  }

  Status Sync(int fd) override { return ::fdatasync(fd) == 0 ? Status::Ok() : Status::FromErrno("sync"); }

  Result<uint64_t> AllocatedBytes(int dir, const std::string& name) override {
    struct stat found {};
    if (::fstatat(dir, name.c_str(), &found, AT_SYMLINK_NOFOLLOW) != 0) return Status::FromErrno("stat");
    return static_cast<uint64_t>(found.st_blocks) * 512;
  }

  Status Rename(int dir, const std::string& from, const std::string& to) override {
    PROFD_RETURN_IF_ERROR(CheckName(from));
    PROFD_RETURN_IF_ERROR(CheckName(to));
    if (::renameat(dir, from.c_str(), dir, to.c_str()) != 0) return Status::FromErrno("rename");
    return {};
  }

  Status Remove(int dir, const std::string& name) override {
    PROFD_RETURN_IF_ERROR(CheckName(name));
    if (::unlinkat(dir, name.c_str(), 0) == 0) return {};
    if (errno == EISDIR && ::unlinkat(dir, name.c_str(), AT_REMOVEDIR) == 0) return {};
    return Status::FromErrno("remove");
  }
};

}  // namespace

FileSystem& PosixFileSystem() {
  // Never destroyed: a thread that flushes may outlive main().
  static Posix& posix = *new Posix;
  return posix;
}

bool IsDiskFull(const Status& status) { return status.error() == ENOSPC || status.error() == EDQUOT; }

}  // namespace profd::store
