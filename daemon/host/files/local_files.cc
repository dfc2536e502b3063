#include "daemon/host/files/local_files.h"

#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "base/clock.h"
#include "base/unique_fd.h"

namespace profd::host {

namespace {

constexpr std::array<std::string_view, 14> kLocal = {"bcachefs", "btrfs", "erofs",   "ext2",  "ext3",
                                                     "ext4",     "f2fs",  "overlay", "ramfs", "rootfs",
                                                     "squashfs", "tmpfs", "xfs",     "zfs"};
// Mounts come and go, but what is asked for is asked for again and again.
constexpr uint64_t kKnownNs = 1'000'000'000;

// What memfd_create() makes lies on a file system that is mounted nowhere.
dev_t OfMemfds() {
  const base::UniqueFd memfd(::memfd_create("profd", MFD_CLOEXEC));
  struct stat facts {};
  return memfd && ::fstat(memfd.get(), &facts) == 0 ? facts.st_dev : 0;
}

std::string_view NextWord(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

}  // namespace

bool IsLocalIn(std::string_view mounts, uint32_t major, uint32_t minor) {
  const std::string device = std::to_string(major) + ":" + std::to_string(minor);
  bool local = false;
  while (!mounts.empty()) {
    const size_t end = std::min(mounts.find('\n'), mounts.size());
    std::string_view line = mounts.substr(0, end);
    mounts.remove_prefix(std::min(end + 1, mounts.size()));
    // "36 35 98:0 /root /point rw,noatime master:1 - ext3 /dev/root rw"
    NextWord(line);
    NextWord(line);
    if (NextWord(line) != device) continue;
    const size_t dash = line.find(" - ");
    if (dash == line.npos) return false;
    line.remove_prefix(dash + 3);
    if (std::ranges::find(kLocal, NextWord(line)) == kLocal.end()) return false;
    local = true;
  }
  return local;
}

bool IsLocal(uint32_t major, uint32_t minor) {
  static std::mutex mutex;
  static const dev_t memfds = OfMemfds();
  static std::map<std::pair<uint32_t, uint32_t>, bool> known;
  static uint64_t known_since_ns = 0;
  if (memfds != 0 && ::makedev(major, minor) == memfds) return true;
  const std::lock_guard lock(mutex);
  const uint64_t now_ns = base::MonotonicNs();
  if (now_ns - known_since_ns > kKnownNs) {
    known.clear();
    known_since_ns = now_ns;
  }
  const auto found = known.find({major, minor});
  if (found != known.end()) return found->second;
  std::ifstream file("/proc/self/mountinfo");
  const std::string mounts{std::istreambuf_iterator<char>(file), {}};
  return known[{major, minor}] = IsLocalIn(mounts, major, minor);
}

bool IsOnLocal(int fd) {
  // As the kernel numbers those of kLocal (linux/magic.h, and of their own sources).
  constexpr std::array<uint32_t, 12> kMagic = {
      0xca451a4e,       BTRFS_SUPER_MAGIC,     0xe0f5e1e2,           EXT4_SUPER_MAGIC,
      F2FS_SUPER_MAGIC, OVERLAYFS_SUPER_MAGIC, RAMFS_MAGIC,          SQUASHFS_MAGIC,
      TMPFS_MAGIC,      0x58465342 /* xfs */,  0x2fc12fc1 /* zfs */, 0xef51 /* ext2 */};
  struct statfs facts {};
  return ::fstatfs(fd, &facts) == 0 &&
         std::ranges::find(kMagic, static_cast<uint32_t>(facts.f_type)) != kMagic.end();
}

}  // namespace profd::host
