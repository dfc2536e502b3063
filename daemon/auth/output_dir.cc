#include "daemon/auth/output_dir.h"

#include <fcntl.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

#include "base/clock.h"

namespace profd::auth {

using base::Code;
using base::Status;

namespace {

// The raw call changes this thread alone; libc's would change all of them.
bool SetThreadGroups(const std::vector<gid_t>& groups) {
  return ::syscall(SYS_setgroups, groups.size(), groups.data()) == 0;
}

// **Thread:** the one that made it. **Owns:** the thread's borrowed identity for file access; gives it back.
class BorrowedIdentity {
 public:
  explicit BorrowedIdentity(const Credentials& caller) {
    const int count = ::getgroups(0, nullptr);
    if (count < 0) return;
    own_groups_.resize(static_cast<size_t>(count));
    if (::getgroups(count, own_groups_.data()) != count || !SetThreadGroups(caller.groups)) return;
    changed_ = true;
    ::setfsgid(caller.gid);
    ::setfsuid(caller.uid);
    // These calls report no errors; asking for an impossible id answers the present one.
    borrowed_ = ::setfsuid(static_cast<uid_t>(-1)) == static_cast<int>(caller.uid) &&
                ::setfsgid(static_cast<gid_t>(-1)) == static_cast<int>(caller.gid);
  }
  ~BorrowedIdentity() {
    if (!changed_) return;
    ::setfsuid(::geteuid());
    ::setfsgid(::getegid());
    PROFD_CHECK(SetThreadGroups(own_groups_));
  }
  BorrowedIdentity(const BorrowedIdentity&) = delete;
  BorrowedIdentity& operator=(const BorrowedIdentity&) = delete;

  bool ok() const { return borrowed_; }

 private:
  std::vector<gid_t> own_groups_;
  bool changed_ = false;
  bool borrowed_ = false;
};

Status Probe(int fd) {
  const std::string name = ".profd-probe-" + std::to_string(base::RawNs());
  if (::mkdirat(fd, name.c_str(), 0700) != 0) {
    return Status::FromErrno("write to the output directory (choose another --output)");
  }
  ::unlinkat(fd, name.c_str(), AT_REMOVEDIR);
  return Status::Ok();
}

}  // namespace

Status ProbeOutputDir(int fd, const Credentials& caller) {
  const uid_t own = ::geteuid();
  if (caller.uid == own) return Probe(fd);
  if (own != 0) {
    return {Code::kPermissionDenied, "this profd runs as user " + std::to_string(own) +
                                         " and writes to directories of that user only: leave out --output"};
  }
  const BorrowedIdentity identity(caller);
  if (!identity.ok()) return {Code::kInternal, "cannot check the output directory with the caller's rights"};
  return Probe(fd);
}

}  // namespace profd::auth
