#include "daemon/host/files/local_files.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "base/unique_fd.h"

namespace profd::host {
namespace {

constexpr char kMounts[] =
    "22 27 0:21 / /proc rw,relatime - proc proc rw\n"
    "27 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n"
    "36 27 0:51 / /home nosuid - nfs4 server:/home rw,vers=4.2\n"
    "37 27 0:52 / /home/eve/mnt rw,nosuid,nodev - fuse.evil evil rw,user_id=1000\n"
    "38 27 8:17 / /media/stick rw - fuseblk /dev/sdb1 rw,user_id=0\n"
    "39 27 0:53 / /with\\040- tmpfs rw master:3 propagate_from:2 - fuse tmpfs rw\n"
    "40 27 0:54 / /var/lib/overlay rw - overlay overlay rw,lowerdir=/a\n"
    "41 27 0:55 / /tmp rw - tmpfs tmpfs rw\n"
    "broken\n"
    "42 27 0:56";

TEST(LocalFiles, AreOnDisksAndInMemoryOfThisNode) {
  EXPECT_TRUE(IsLocalIn(kMounts, 254, 0));
  EXPECT_TRUE(IsLocalIn(kMounts, 0, 54));
  EXPECT_TRUE(IsLocalIn(kMounts, 0, 55));
  EXPECT_FALSE(IsLocalIn(kMounts, 0, 51)) << "asks a server";
  EXPECT_FALSE(IsLocalIn(kMounts, 0, 52)) << "asks a process";
  EXPECT_FALSE(IsLocalIn(kMounts, 8, 17)) << "asks a process, though it is on a disk";
  EXPECT_FALSE(IsLocalIn(kMounts, 0, 53)) << "its name has a dash";
  EXPECT_FALSE(IsLocalIn(kMounts, 0, 56));
  EXPECT_FALSE(IsLocalIn(kMounts, 8, 1)) << "mounted where nobody sees it";
  EXPECT_FALSE(IsLocalIn("", 0, 0));
}

TEST(LocalFiles, OfThisMachine) {
  const base::UniqueFd memfd(::memfd_create("test", MFD_CLOEXEC));
  struct stat facts {};
  ASSERT_EQ(::fstat(memfd.get(), &facts), 0);
  EXPECT_TRUE(IsLocal(::major(facts.st_dev), ::minor(facts.st_dev)));
  ASSERT_EQ(::stat("/proc/self", &facts), 0);
  EXPECT_FALSE(IsLocal(::major(facts.st_dev), ::minor(facts.st_dev)));
}

}  // namespace
}  // namespace profd::host
