#include "daemon/store/files/identity.h"

#include <sys/fsuid.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <string>

namespace profd::store {

base::Status SetFileIdentity(uid_t uid, gid_t gid) {
  constexpr auto kAsk = static_cast<uid_t>(-1);  // never valid, so these calls only return the present value
  // Group first: once the user is not root any more the right to change it may be gone.
  ::setfsgid(gid);
  ::setfsuid(uid);
  if (static_cast<gid_t>(::setfsgid(kAsk)) == gid && static_cast<uid_t>(::setfsuid(kAsk)) == uid) return {};
  return {base::Code::kPermissionDenied, "cannot act as user " + std::to_string(uid) + ", group " +
                                             std::to_string(gid) + ": profd needs CAP_SETUID and CAP_SETGID"};
}

ActingAs::~ActingAs() { PROFD_CHECK(SetFileIdentity(::geteuid(), ::getegid()).ok()); }

base::Status DropSupplementaryGroups() {
#if defined(SYS_setgroups32)
  constexpr long kSetGroups = SYS_setgroups32;
#else
  constexpr long kSetGroups = SYS_setgroups;
#endif
  if (::syscall(kSetGroups, 0, nullptr) != 0) return base::Status::FromErrno("setgroups");
  return {};
}

}  // namespace profd::store
