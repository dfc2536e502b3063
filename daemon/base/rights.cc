#include "daemon/base/rights.h"

#include <linux/capability.h>
#include <linux/perf_event.h>
#include <seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <memory>

namespace profd::base {

namespace {

constexpr unsigned kKept[] = {
    CAP_DAC_READ_SEARCH,  // /proc/PID and folders of users
    CAP_PERFMON,          // perf events of every CPU
    CAP_SETGID,           // files are written with their user's rights
    CAP_SETUID,           // the same
    CAP_SYS_PTRACE,       // /proc/PID/{io,fd,maps,environ,root}
};

// Never called by profd, gRPC or, as far as its source is public, the vendor's library, which runs in this
// process: whatever else that may call is allowed.
constexpr int kRefused[] = {
// Other processes, beyond what /proc shows. LeakSanitizer stops the threads of its process with ptrace.
#if !defined(PROFD_SEARCHED_FOR_LEAKS)
    SCMP_SYS(ptrace),
#endif
    SCMP_SYS(process_vm_readv), SCMP_SYS(process_vm_writev), SCMP_SYS(pidfd_getfd), SCMP_SYS(kcmp),
    // Files behind the back of every path, with CAP_DAC_READ_SEARCH.
    SCMP_SYS(open_by_handle_at),
    // Namespaces and mounts.
    SCMP_SYS(setns), SCMP_SYS(unshare), SCMP_SYS(mount), SCMP_SYS(umount2), SCMP_SYS(pivot_root),
    SCMP_SYS(chroot), SCMP_SYS(move_mount), SCMP_SYS(open_tree), SCMP_SYS(fsopen), SCMP_SYS(fsconfig),
    SCMP_SYS(fsmount), SCMP_SYS(fspick), SCMP_SYS(mount_setattr),
    // The kernel and the machine.
    SCMP_SYS(init_module), SCMP_SYS(finit_module), SCMP_SYS(delete_module), SCMP_SYS(kexec_load),
    SCMP_SYS(kexec_file_load), SCMP_SYS(bpf), SCMP_SYS(userfaultfd), SCMP_SYS(reboot), SCMP_SYS(swapon),
    SCMP_SYS(swapoff), SCMP_SYS(acct), SCMP_SYS(quotactl), SCMP_SYS(iopl), SCMP_SYS(ioperm),
    SCMP_SYS(settimeofday), SCMP_SYS(clock_settime), SCMP_SYS(clock_adjtime), SCMP_SYS(adjtimex),
    SCMP_SYS(sethostname), SCMP_SYS(setdomainname), SCMP_SYS(syslog), SCMP_SYS(vhangup), SCMP_SYS(keyctl),
    SCMP_SYS(add_key), SCMP_SYS(request_key)};

constexpr uint64_t Bit(unsigned capability) { return uint64_t{1} << capability; }

uint64_t Kept() {
  uint64_t kept = 0;
  for (const unsigned capability : kKept) kept |= Bit(capability);
  return kept;
}

// Of the calling thread. The C library has no calls for them.
struct Capabilities {
  uint64_t permitted = 0, effective = 0;
  uint64_t inheritable = 0;  // what a program that it executes keeps

  static Result<Capabilities> Get() {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    if (::syscall(SYS_capget, &header, data.data()) != 0) return Status::FromErrno("read the capabilities");
    return Capabilities{data[0].permitted | uint64_t{data[1].permitted} << 32,
                        data[0].effective | uint64_t{data[1].effective} << 32,
                        data[0].inheritable | uint64_t{data[1].inheritable} << 32};
  }
  Status Set() const {
    __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> data{};
    for (unsigned i = 0; i < data.size(); ++i) {
      data[i].permitted = static_cast<uint32_t>(permitted >> (32 * i));
      data[i].effective = static_cast<uint32_t>(effective >> (32 * i));
      data[i].inheritable = static_cast<uint32_t>(inheritable >> (32 * i));
    }
    if (::syscall(SYS_capset, &header, data.data()) != 0) return Status::FromErrno("give up capabilities");
    return Status::Ok();
  }
};

// Linux before 5.8, which has no CAP_PERFMON; later ones of distributions where kernel.perf_event_paranoid is
// above 2.
std::atomic<bool> g_perf_needs_admin{false};

bool PerfIsRefused() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_DUMMY;
  attr.disabled = 1;
  const auto fd = static_cast<int>(::syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC));
  if (fd < 0) return errno == EACCES || errno == EPERM;
  ::close(fd);
  return false;
}

Status DropCapabilities() {
  PROFD_ASSIGN_OR_RETURN(Capabilities own, Capabilities::Get());
  // A profd that executes itself anew (host/process/nursery.h) has what the bounding set has, and this. What
  // is not in that set cannot be made inheritable any more.
  own.inheritable = own.permitted & Bit(CAP_SYS_ADMIN);
  PROFD_RETURN_IF_ERROR(own.Set());
  // The bounding set before the others: it takes CAP_SETPCAP, without which there is nobody to take it from.
  for (unsigned capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if ((Kept() & Bit(capability)) == 0) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  const uint64_t effective = own.effective & Kept();
  own.effective = effective;
  PROFD_RETURN_IF_ERROR(own.Set());
  bool admin = false;
  if ((own.permitted & Bit(CAP_SYS_ADMIN)) != 0 && PerfIsRefused()) {
    own.effective |= Bit(CAP_SYS_ADMIN);
    PROFD_RETURN_IF_ERROR(own.Set());
    admin = !PerfIsRefused();
    own.effective = effective;
  }
  own.permitted &= Kept() | (admin ? Bit(CAP_SYS_ADMIN) : 0);
  own.inheritable &= own.permitted;
  if (admin) g_perf_needs_admin = true;
  return own.Set();
}

Status RefuseCalls() {
  const std::unique_ptr<void, decltype(&seccomp_release)> filter(seccomp_init(SCMP_ACT_ALLOW),
                                                                 &seccomp_release);
  if (!filter) return {Code::kInternal, "make a filter of system calls: out of memory"};
  for (const int call : kRefused) {
    // Some do not exist on every architecture.
    const int error = seccomp_rule_add(filter.get(), SCMP_ACT_ERRNO(EPERM), call, 0);
    if (error != 0 && error != -EDOM) {
      errno = -error;
      return Status::FromErrno("make a filter of system calls");
    }
  }
  // A kernel without filters, or a container that does not allow them, has one wall less: no reason not to
  // work.
  seccomp_attr_set(filter.get(), SCMP_FLTATR_CTL_OPTIMIZE, 2);  // a tree: each call of ours goes through it
  seccomp_load(filter.get());
  return Status::Ok();
}

}  // namespace

Status GiveUpRights() {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return Status::FromErrno("give up new privileges");
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);  // as every change of the files' owner does, too
  PROFD_RETURN_IF_ERROR(DropCapabilities());
  return RefuseCalls();
}

PerfRights::PerfRights() {
  if (!are_special()) return;
  if (auto own = Capabilities::Get(); own.ok()) {
    own->effective |= own->permitted & Bit(CAP_SYS_ADMIN);
    (void)own->Set();  // the call that needs it says what is missing
  }
}
PerfRights::~PerfRights() {
  if (!are_special()) return;
  const int before = errno;
  if (auto own = Capabilities::Get(); own.ok()) {
    own->effective &= ~Bit(CAP_SYS_ADMIN);
    (void)own->Set();
  }
  errno = before;
}
bool PerfRights::are_special() { return g_perf_needs_admin; }

}  // namespace profd::base
