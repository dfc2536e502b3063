#include "daemon/auth/door/listener.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

namespace profd::auth {
namespace {

using base::UniqueFd;

uid_t UserOf(const UniqueFd& fd) {
  ucred peer{};
  socklen_t size = sizeof peer;
  EXPECT_EQ(::getsockopt(fd.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size), 0);
  return peer.uid;
}

size_t OpenSockets() {
  size_t count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;  // it may be closed by now
    count += std::filesystem::read_symlink(entry.path(), gone).string().starts_with("socket:") ? 1 : 0;
  }
  return count;
}

class ListenerTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "listenerXXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    std::filesystem::permissions(folder_, std::filesystem::perms(0755));
    path_ = folder_ + "/socket";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  // So many connections of a user's, made by a thread with that user's rights.
  std::vector<UniqueFd> Knock(uid_t user, int count) const {
    std::vector<UniqueFd> knocks;
    std::thread([&] {
      // The kernel's own call: that of the C library is for all threads.
      ASSERT_EQ(::syscall(SYS_setresuid, -1, user, -1), 0);
      sockaddr_un address{};
      address.sun_family = AF_UNIX;
      path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
      for (int i = 0; i < count; ++i) {
        knocks.emplace_back(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        EXPECT_EQ(
            ::connect(knocks.back().get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
      }
    }).join();
    return knocks;
  }

  std::string folder_, path_;
};

TEST_F(ListenerTest, WhoeverKnocksWithoutEndWaitsForHimself) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to be two users";
  constexpr int kMany = 800;
  base::Executor ctl;
  std::vector<uid_t> came;
  const size_t all = OpenSockets() + 1 + 2 * (kMany + 1);  // that which listens, and both ends of each
  auto listener = Listener::Start(path_, SOCK_STREAM, ctl, [&](const UniqueFd& fd) {
    while (came.empty() && OpenSockets() < all) std::this_thread::yield();  // until all have been taken
    came.push_back(UserOf(fd));
    if (came.size() == kMany + 1) ctl.Stop();
  });
  ASSERT_TRUE(listener.ok()) << listener.status().message();
  const std::vector<UniqueFd> many = Knock(4711, kMany), one = Knock(4712, 1);
  ctl.Run();
  EXPECT_LE(std::ranges::find(came, uid_t{4712}) - came.begin(), 2) << "not behind all of them";
}

}  // namespace
}  // namespace profd::auth
