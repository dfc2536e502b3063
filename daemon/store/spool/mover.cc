#include "daemon/store/spool/mover.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/crc32c.h"
#include "base/unique_fd.h"
#include "daemon/store/files/user_folder.h"
#include "format/mend/files.h"

namespace profd::store {

namespace {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;
using mend::Names;
using mend::OpenDir;
using mend::RegularFile;

constexpr size_t kPiece = 1u << 20;
constexpr int kMaxDepth = 4;  // PROF_…/device_0/data/slice
constexpr char kUnderWay[] = ".moving_";

// **Thread:** one, with the rights of the directories' owner.
class Copy {
 public:
  Copy(uid_t uid, uint64_t bytes_per_second) : uid_(uid), rate_(bytes_per_second) {}

  Status Tree(int from, int to, const std::string& path, int depth) {
    for (const std::string& name : Names(from)) {
      const std::string below = path + "/" + name;
      if (RegularFile(from, name, uid_)) {
        PROFD_RETURN_IF_ERROR(File(from, to, name, below));
        continue;
      }
      const UniqueFd source = OpenDir(from, name, uid_);
      if (!source || depth == kMaxDepth)
        return {Code::kFailedPrecondition, below + " is nothing of the user's own"};
      PROFD_ASSIGN_OR_RETURN(const UniqueFd target, Folder(to, name, below));
      PROFD_RETURN_IF_ERROR(Tree(source.get(), target.get(), below, depth + 1));
    }
    return ::fsync(to) == 0 ? Status::Ok() : Status::FromErrno("flush " + path);
  }

  // Everything of `from` is in `to`, too, with the same bytes.
  bool Copied(int from, int to, int depth) {
    const std::vector<std::string> names = Names(from);
    return std::all_of(names.begin(), names.end(), [&](const std::string& name) {
      if (const auto facts = RegularFile(from, name, uid_)) {
        const UniqueFd source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
        const auto present = RegularFile(to, name, uid_);
        return present && present->st_size == facts->st_size && Same(source.get(), to, name);
      }
      const UniqueFd source = OpenDir(from, name, uid_);
      const UniqueFd target = OpenDir(to, name, uid_);
      return source && target && depth < kMaxDepth && Copied(source.get(), target.get(), depth + 1);
    });
  }

  Result<UniqueFd> Folder(int parent, const std::string& name, const std::string& path) {
    if (::mkdirat(parent, name.c_str(), 0750) != 0 && errno != EEXIST)
      return Status::FromErrno("make " + path);
    UniqueFd dir = OpenDir(parent, name, uid_);
    if (!dir) return Status(Code::kFailedPrecondition, path + ": something else is in the way");
    return dir;
  }

 private:
  Status File(int from, int to, const std::string& name, const std::string& path) {
    const UniqueFd source(::openat(from, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    struct stat facts {};
    if (!source || ::fstat(source.get(), &facts) != 0) return Status::FromErrno("read " + path);
    if (!S_ISREG(facts.st_mode)) return {Code::kFailedPrecondition, path + " is not a file any more"};
    const auto present = RegularFile(to, name, uid_);
    if (present && present->st_size == facts.st_size && Same(source.get(), to, name)) return {};
    if (::unlinkat(to, name.c_str(), 0) != 0 && errno != ENOENT) return Status::FromErrno("replace " + path);
    const UniqueFd target(
        ::openat(to, name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, facts.st_mode & 0777));
    if (!target) return Status::FromErrno("create " + path);
    PROFD_ASSIGN_OR_RETURN(const uint32_t sum, Through(source.get(), target.get(), path));
    if (::fdatasync(target.get()) != 0) return Status::FromErrno("flush " + path);
    ::posix_fadvise(target.get(), 0, 0, POSIX_FADV_DONTNEED);  // so that it is the disk that answers
    PROFD_ASSIGN_OR_RETURN(const uint32_t copied, Through(target.get(), -1, path));
    if (copied != sum) return {Code::kDataLoss, path + ": the copy is not what was written"};
    const timespec times[2] = {facts.st_atim, facts.st_mtim};
    ::futimens(target.get(), times);
    return {};
  }

  bool Same(int source, int to, const std::string& name) {
    const UniqueFd target(::openat(to, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
    const auto one = Through(source, -1, name);
    const auto other = Through(target.get(), -1, name);
    return one.ok() && other.ok() && *one == *other;
  }

  // From the beginning to the end, into `to` if there is one; the checksum.
  Result<uint32_t> Through(int from, int to, const std::string& path) {
    uint32_t sum = 0;
    for (off_t at = 0;;) {
      const ssize_t got = ::pread(from, piece_.data(), piece_.size(), at);
      if (got < 0) return Status::FromErrno("read " + path);
      if (got == 0) return sum;
      sum = base::Crc32c(piece_.data(), static_cast<size_t>(got), sum);
      for (ssize_t done = 0; to >= 0 && done < got;) {
        const ssize_t put = ::pwrite(to, piece_.data() + done, static_cast<size_t>(got - done), at + done);
        if (put <= 0) return Status::FromErrno("write " + path);
        done += put;
      }
      at += got;
      if (to >= 0) Wait(static_cast<uint64_t>(got));
    }
  }

  void Wait(uint64_t bytes) {
    if (rate_ == 0) return;
    copied_ += bytes;
    const double due_ns = static_cast<double>(copied_) * 1e9 / static_cast<double>(rate_);
    const auto spent_ns = static_cast<double>(base::MonotonicNs() - begin_ns_);
    if (due_ns > spent_ns) {
      std::this_thread::sleep_for(std::chrono::nanoseconds(static_cast<int64_t>(due_ns - spent_ns)));
    }
  }

  const uid_t uid_;
  const uint64_t rate_;
  const uint64_t begin_ns_ = base::MonotonicNs();
  uint64_t copied_ = 0;
  std::vector<std::byte> piece_ = std::vector<std::byte>(kPiece);
};

// Of the calling thread: only when nobody else wants the processor and the disk.
void GiveWay() {
  constexpr int kWhoProcess = 1;
  constexpr int kIdleClass = 3 << 13;
  ::syscall(SYS_ioprio_set, kWhoProcess, 0, kIdleClass);
  ::setpriority(PRIO_PROCESS, 0, 19);  // of the thread, on Linux
}

}  // namespace

Status CopyTrace(const std::string& spool, const std::string& user, const std::string& name, int to,
                 uint64_t bytes_per_second) {
  GiveWay();
  PROFD_ASSIGN_OR_RETURN(const UserFolder folder, UserFolder::Enter(spool, user));
  const UniqueFd source = OpenDir(folder.dir(), name, folder.uid());
  if (!source) return {Code::kNotFound, name + " is gone"};
  ::flock(source.get(), LOCK_SH | LOCK_NB);
  Copy copy(folder.uid(), bytes_per_second);
  // An attempt that came to its end, but not to tell of it.
  if (const UniqueFd there = OpenDir(to, name, folder.uid())) {
    if (copy.Copied(source.get(), there.get(), 0)) return {};
    return {Code::kAlreadyExists, "another " + name + " is there already: remove or rename it first"};
  }
  const std::string under_way = kUnderWay + name;
  {
    PROFD_ASSIGN_OR_RETURN(const UniqueFd target, copy.Folder(to, under_way, under_way));
    PROFD_RETURN_IF_ERROR(copy.Tree(source.get(), target.get(), name, 0));
  }
  if (::renameat2(to, under_way.c_str(), to, name.c_str(), RENAME_NOREPLACE) != 0 &&
      (errno != EINVAL || ::renameat(to, under_way.c_str(), to, name.c_str()) != 0)) {
    return Status::FromErrno("name " + name);
  }
  return ::fsync(to) == 0 ? Status::Ok() : Status::FromErrno("flush the directory of " + name);
}

}  // namespace profd::store
