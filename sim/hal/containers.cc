#include "sim/hal/containers.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <utility>

#include "sim/abi.h"

namespace profd::sim {
namespace {

ino_t Inode(const char* path) {
  struct stat found {};
  return ::stat(path, &found) == 0 ? found.st_ino : 0;
}

uint64_t EffectiveCapabilities() {
  std::ifstream status("/proc/thread-self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("CapEff:", 0) == 0) return std::stoull(line.substr(7), nullptr, 16);
  }
  return 0;
}

// One line of fixed size per device: namespace and process.
constexpr int kLine = 32;

}  // namespace

Containers::Containers(std::string bindings, uint64_t host) : bindings_(std::move(bindings)), host_(host) {}

bool Containers::IsAdministrator(ino_t mounts) const {
  if (mounts == host_) return true;
  // Up to CAP_AUDIT_READ. And a container whose control groups are read-only is no administrator's.
  constexpr uint64_t kPrivileged = (uint64_t{1} << 38) - 1;
  struct statvfs groups {};
  const bool read_only = ::statvfs("/sys/fs/cgroup/memory", &groups) == 0 && (groups.f_flag & ST_RDONLY) != 0;
  return ::geteuid() == 0 && (EffectiveCapabilities() & kPrivileged) == kPrivileged && !read_only;
}

int Containers::Open(uint32_t device) const {
  if (bindings_.empty()) return code::kOk;
  const ino_t mounts = Inode("/proc/thread-self/ns/mnt");
  if (IsAdministrator(mounts)) return code::kOk;
  const int file = ::open(bindings_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (file < 0) return code::kInner;
  ::flock(file, LOCK_EX);
  char line[kLine + 1] = {};
  const off_t at = off_t{kLine} * device;
  unsigned long owner = 0;
  int process = 0;
  if (::pread(file, line, kLine, at) == kLine) std::sscanf(line, "%lu %d", &owner, &process);
  const bool owned =
      owner != 0 && owner != mounts && Inode(("/proc/" + std::to_string(process)).c_str()) != 0;
  if (!owned && owner != mounts) {
    std::snprintf(line, sizeof line, "%-16lu %-14d\n", static_cast<unsigned long>(mounts), ::getpid());
    if (::pwrite(file, line, kLine, at) != kLine) std::perror("ascend simulator: containers");
  }
  ::close(file);  // and its lock
  return owned ? code::kResourceOccupied : code::kOk;
}

}  // namespace profd::sim
