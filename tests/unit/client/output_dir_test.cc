#include "client/files/output_dir.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace profd::client {
namespace {

using base::Code;

class OutputTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "outXXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    before_ = std::filesystem::current_path();
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    std::filesystem::remove_all(folder_);
  }

  static void ExpectRefused(const std::string& text, Code code) {
    const base::Status status = OpenOutputDir(text).status();
    EXPECT_EQ(status.code(), code) << text << ": " << status.message();
    EXPECT_THAT(status.message(), testing::StartsWith("output directory '"));
  }

  std::string folder_;
  std::filesystem::path before_;
};

TEST_F(OutputTest, OpensWhatIsThere) {
  base::Result<OutputDir> dir = OpenOutputDir(folder_);
  ASSERT_TRUE(dir.ok()) << dir.status().message();
  EXPECT_EQ(dir->path, folder_);
  EXPECT_FALSE(dir->created);
  struct stat by_fd {};
  struct stat by_path {};
  ASSERT_EQ(::fstat(dir->fd.get(), &by_fd), 0);
  ASSERT_EQ(::stat(folder_.c_str(), &by_path), 0);
  EXPECT_EQ(by_fd.st_ino, by_path.st_ino);
  DropOutputDir(*dir);
  EXPECT_TRUE(std::filesystem::exists(folder_)) << "not ours to remove";
}

TEST_F(OutputTest, CreatesOneLevelAndRemovesItAgain) {
  base::Result<OutputDir> dir = OpenOutputDir(folder_ + "/new/");
  ASSERT_TRUE(dir.ok()) << dir.status().message();
  EXPECT_TRUE(dir->created);
  EXPECT_EQ(dir->path, folder_ + "/new");
  struct stat found {};
  ASSERT_EQ(::stat(dir->path.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 07027, 0U) << "more than 0750";
  DropOutputDir(*dir);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/new"));
  ExpectRefused(folder_ + "/a/b", Code::kInvalidArgument);
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/a"));
}

TEST_F(OutputTest, KeepsACreatedDirectoryThatIsUsed) {
  base::Result<OutputDir> dir = OpenOutputDir(folder_ + "/new");
  ASSERT_TRUE(dir.ok());
  std::ofstream(folder_ + "/new/data") << "x";
  DropOutputDir(*dir);
  EXPECT_TRUE(std::filesystem::exists(folder_ + "/new/data"));
}

TEST_F(OutputTest, ResolvesRelativePaths) {
  std::filesystem::current_path(folder_);
  EXPECT_EQ((*OpenOutputDir("new")).path, folder_ + "/new");
  EXPECT_EQ((*OpenOutputDir("./a/../new")).path, folder_ + "/new");
  EXPECT_TRUE(OpenOutputDir(".").ok());
}

TEST_F(OutputTest, RefusesWhatIsNoDirectoryOfItsOwn) {
  std::ofstream(folder_ + "/file") << "x";
  std::filesystem::create_directory(folder_ + "/real");
  std::filesystem::create_directory_symlink(folder_ + "/real", folder_ + "/link");
  std::filesystem::create_symlink(folder_ + "/nowhere", folder_ + "/dangling");
  for (const char* name :
       {"/file", "/file/", "/file/sub", "/link", "/link/", "/link///", "/link/.", "/dangling"}) {
    ExpectRefused(folder_ + name, Code::kInvalidArgument);
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ + "/nowhere"));
}

TEST_F(OutputTest, RefusesTextThatIsNoPath) {
  ExpectRefused("", Code::kInvalidArgument);
  ExpectRefused("a\nb", Code::kInvalidArgument);
  ExpectRefused("\xff", Code::kInvalidArgument);
  ExpectRefused(std::string(5000, 'x'), Code::kInvalidArgument);
  ExpectRefused(folder_ + "/" + std::string(300, 'x'), Code::kInvalidArgument);
}

TEST_F(OutputTest, RefusesPseudoFileSystems) {
  for (const char* path : {"/proc", "/proc/self", "/sys", "/proc/profd", "/dev/null"}) {
    EXPECT_FALSE(OpenOutputDir(path).ok()) << path;
  }
}

TEST_F(OutputTest, RefusesWhatOneMayNotWrite) {
  if (::geteuid() == 0) {
    // Root may write everywhere; a child without its rights may not.
    ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
    const pid_t child = ::fork();
    if (child == 0) {
      if (::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(3);
      const bool is_denied = OpenOutputDir(folder_).status().code() == Code::kPermissionDenied &&
                             OpenOutputDir(folder_ + "/new").status().code() == Code::kPermissionDenied;
      ::_exit(is_denied ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(::waitpid(child, &status, 0), child);
    EXPECT_EQ(WEXITSTATUS(status), 0);
    return;
  }
  ASSERT_EQ(::chmod(folder_.c_str(), 0555), 0);
  ExpectRefused(folder_, Code::kPermissionDenied);
  ExpectRefused(folder_ + "/new", Code::kPermissionDenied);
  ASSERT_EQ(::chmod(folder_.c_str(), 0755), 0);
}

}  // namespace
}  // namespace profd::client
