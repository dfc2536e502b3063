#include "daemon/auth/output_dir.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/files/passed.h"
#include "base/unique_fd.h"

namespace profd::auth {
namespace {

constexpr uid_t kUser = 54321;
constexpr gid_t kGroup = 54322;

class OutputDirTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "outputXXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    fd_.Reset(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY));
    ASSERT_TRUE(fd_);
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "the probe left something behind";
    std::filesystem::remove_all(folder_);
  }

  std::string folder_;
  base::UniqueFd fd_;
};

TEST_F(OutputDirTest, TellsDirectories) {
  const base::UniqueFd file(::open("/dev/null", O_RDONLY));
  // Closing it may wait for its file system, and its flags contain those of a directory.
  const base::UniqueFd unnamed(::open(folder_.c_str(), O_TMPFILE | O_RDWR, 0600));
  ASSERT_TRUE(unnamed);
  EXPECT_TRUE(base::IsDirectory(fd_.get()));
  EXPECT_FALSE(base::IsDirectory(file.get()));
  EXPECT_FALSE(base::IsDirectory(unnamed.get()));
  EXPECT_FALSE(base::IsDirectory(-1));
}

TEST_F(OutputDirTest, OwnUserMayWrite) {
  EXPECT_TRUE(ProbeOutputDir(fd_.get(), {::geteuid(), ::getegid(), {}}).ok());
}

TEST_F(OutputDirTest, RemovedDirectoryIsRefused) {
  ASSERT_EQ(::rmdir(folder_.c_str()), 0);
  EXPECT_FALSE(ProbeOutputDir(fd_.get(), {::geteuid(), ::getegid(), {}}).ok());
  ASSERT_EQ(::mkdir(folder_.c_str(), 0700), 0);
}

// Anybody can open root's directories for reading; that must not make root's daemon write there for them.
TEST_F(OutputDirTest, RootAsksWithTheCallersRights) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
  EXPECT_EQ(ProbeOutputDir(fd_.get(), {kUser, kGroup, {}}).code(), base::Code::kPermissionDenied);
  ASSERT_EQ(::chown(folder_.c_str(), kUser, 0), 0);
  EXPECT_TRUE(ProbeOutputDir(fd_.get(), {kUser, kGroup, {}}).ok());
  EXPECT_EQ(ProbeOutputDir(fd_.get(), {kUser + 1, kGroup, {}}).code(), base::Code::kPermissionDenied);
}

TEST_F(OutputDirTest, GroupsOfTheCallerCount) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  ASSERT_EQ(::chown(folder_.c_str(), 0, kGroup), 0);
  ASSERT_EQ(::chmod(folder_.c_str(), 0770), 0);
  EXPECT_TRUE(ProbeOutputDir(fd_.get(), {kUser, kGroup, {}}).ok()) << "primary group";
  EXPECT_TRUE(ProbeOutputDir(fd_.get(), {kUser, 1, {2, kGroup}}).ok()) << "supplementary group";
  EXPECT_FALSE(ProbeOutputDir(fd_.get(), {kUser, 1, {2}}).ok());
}

TEST_F(OutputDirTest, TheThreadIsItselfAgainAfterwards) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root";
  EXPECT_FALSE(ProbeOutputDir(fd_.get(), {kUser, kGroup, {kGroup}}).ok());
  EXPECT_EQ(::setfsuid(static_cast<uid_t>(-1)), 0);
  EXPECT_EQ(::setfsgid(static_cast<gid_t>(-1)), static_cast<int>(::getegid()));
  ASSERT_EQ(::chown(folder_.c_str(), 0, kGroup), 0);
  EXPECT_TRUE(ProbeOutputDir(fd_.get(), {0, 0, {}}).ok());
}

}  // namespace
}  // namespace profd::auth
