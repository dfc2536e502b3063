#include "daemon/auth/door/socket_claim.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace profd::auth {
namespace {

using testing::HasSubstr;

class SocketClaimTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "claimXXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    socket_ = folder_ + "/p.sock";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static base::UniqueFd Bind(const std::string& path, int type) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    base::UniqueFd fd(::socket(AF_UNIX, type, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    EXPECT_EQ(::listen(fd.get(), 1), 0);
    return fd;
  }

  std::string folder_;
  std::string socket_;
};

TEST_F(SocketClaimTest, SecondClaimNamesTheFirst) {
  base::Result<SocketClaim> first = SocketClaim::Take(socket_);
  ASSERT_TRUE(first.ok()) << first.status().message();
  const base::Status second = SocketClaim::Take(socket_).status();
  EXPECT_EQ(second.code(), base::Code::kAlreadyExists);
  EXPECT_THAT(second.message(),
              HasSubstr("another profd (pid " + std::to_string(::getpid()) + ") is listening on " + socket_));
}

// Whoever may rename it could put another socket in its place.
TEST_F(SocketClaimTest, AFolderThatOthersMayWriteToIsRefused) {
  ASSERT_EQ(::chmod(folder_.c_str(), 0777), 0);
  const base::Status refused = SocketClaim::Take(socket_).status();
  EXPECT_EQ(refused.code(), base::Code::kPermissionDenied);
  EXPECT_THAT(refused.message(), HasSubstr("--socket: " + folder_ + " is everybody's to write to"));
  ASSERT_EQ(::chmod(folder_.c_str(), 01777), 0);  // as /tmp
  EXPECT_TRUE(SocketClaim::Take(socket_).ok());
  if (::geteuid() != 0) GTEST_SKIP() << "only root makes folders of others";
  ASSERT_EQ(::chown(folder_.c_str(), 1234, 1234), 0);
  EXPECT_THAT(SocketClaim::Take(socket_).status().message(), HasSubstr("user 1234's"));
}

// As on a full file system.
TEST_F(SocketClaimTest, NoRoomForThePidIsNoReasonNotToStart) {
  { std::ofstream(socket_ + ".lock") << "12345678\n"; }
  struct sigaction before {};
  struct sigaction ignored {};
  ignored.sa_handler = SIG_IGN;
  rlimit room{};
  ASSERT_EQ(::sigaction(SIGXFSZ, &ignored, &before), 0);
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &room), 0);
  const rlimit none{.rlim_cur = 0, .rlim_max = room.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &none), 0);
  const base::Result<SocketClaim> first = SocketClaim::Take(socket_);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &room), 0);
  ASSERT_EQ(::sigaction(SIGXFSZ, &before, nullptr), 0);
  ASSERT_TRUE(first.ok()) << first.status().message();
  // It holds the lock all the same, and nobody else is named.
  EXPECT_THAT(SocketClaim::Take(socket_).status().message(),
              HasSubstr("another profd is listening on " + socket_));
}

TEST_F(SocketClaimTest, IsFreeAgainWhenDropped) {
  { ASSERT_TRUE(SocketClaim::Take(socket_).ok()); }
  EXPECT_TRUE(SocketClaim::Take(socket_).ok());
}

TEST_F(SocketClaimTest, RemovesSocketsOfADeadDaemon) {
  { const base::UniqueFd control = Bind(socket_, SOCK_STREAM); }
  { const base::UniqueFd door = Bind(socket_ + ".door", SOCK_SEQPACKET); }
  ASSERT_TRUE(std::filesystem::exists(socket_));
  ASSERT_TRUE(SocketClaim::Take(socket_).ok());
  EXPECT_FALSE(std::filesystem::exists(socket_));
  EXPECT_FALSE(std::filesystem::exists(socket_ + ".door"));
}

TEST_F(SocketClaimTest, LeavesALiveListenerAlone) {
  for (const auto& [path, type] :
       {std::pair(socket_, SOCK_STREAM), std::pair(socket_ + ".door", SOCK_SEQPACKET)}) {
    const base::UniqueFd alive = Bind(path, type);
    const base::Status status = SocketClaim::Take(socket_).status();
    EXPECT_EQ(status.code(), base::Code::kAlreadyExists);
    EXPECT_TRUE(std::filesystem::exists(path));
    std::filesystem::remove(path);
  }
}

TEST_F(SocketClaimTest, NeverRemovesAFileOrFollowsALink) {
  std::ofstream(socket_) << "precious";
  EXPECT_EQ(SocketClaim::Take(socket_).status().code(), base::Code::kAlreadyExists);
  EXPECT_EQ(std::filesystem::file_size(socket_), 8U);
  std::filesystem::rename(socket_, folder_ + "/precious");
  std::filesystem::create_symlink(folder_ + "/precious", socket_);
  EXPECT_EQ(SocketClaim::Take(socket_).status().code(), base::Code::kAlreadyExists);
  std::filesystem::remove(socket_);
  std::filesystem::remove(socket_ + ".lock");
  std::filesystem::create_symlink(folder_ + "/precious", socket_ + ".lock");
  EXPECT_FALSE(SocketClaim::Take(socket_).ok());
  EXPECT_EQ(std::filesystem::file_size(folder_ + "/precious"), 8U);
}

TEST_F(SocketClaimTest, CreatesTheLastFolderOnly) {
  EXPECT_TRUE(SocketClaim::Take(folder_ + "/run/p.sock").ok());
  EXPECT_EQ(SocketClaim::Take(folder_ + "/a/b/p.sock").status().code(), base::Code::kNotFound);
}

TEST_F(SocketClaimTest, RefusesPathsThatCannotWork) {
  EXPECT_EQ(SocketClaim::Take("").status().code(), base::Code::kInvalidArgument);
  EXPECT_EQ(SocketClaim::Take("p.sock").status().code(), base::Code::kInvalidArgument);
  // 107 characters fit, but the door beside it has five more.
  const std::string path = folder_ + "/" + std::string(107 - folder_.size() - 1, 'x');
  EXPECT_EQ(SocketClaim::Take(path).status().code(), base::Code::kInvalidArgument);
  EXPECT_TRUE(SocketClaim::Take(path.substr(0, 102)).ok());
}

TEST_F(SocketClaimTest, LockFileIsForItsOwnerOnly) {
  base::Result<SocketClaim> claim = SocketClaim::Take(socket_);
  ASSERT_TRUE(claim.ok());
  struct stat found {};
  ASSERT_EQ(::stat((socket_ + ".lock").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0600U);
}

TEST_F(SocketClaimTest, SocketsAreForEverybodyWhateverTheUmask) {
  const mode_t before = ::umask(0077);
  {
    const SocketUmask everybody;
    const base::UniqueFd fd = Bind(socket_, SOCK_STREAM);
  }
  struct stat found {};
  ASSERT_EQ(::stat(socket_.c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0666U);
  EXPECT_EQ(::umask(before), 0077U);
}

}  // namespace
}  // namespace profd::auth
