#include "daemon/auth/door/gate.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace profd::auth {
namespace {

using base::UniqueFd;

class GateTest : public testing::Test {
 protected:
  void Open(size_t most, size_t most_of_user) {
    folder_ = testing::TempDir() + "gateXXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    Gate::Options options;
    options.room = {.most = most, .most_of_one = most_of_user};
    options.pass = [this](UniqueFd fd, uid_t) {
      const std::lock_guard lock(mutex_);
      passed_.push_back(std::move(fd));
    };
    auto gate = tcp_port_ == 0 ? Gate::Start(folder_ + "/s", ctl_, options)
                               : Gate::StartTcp({"127.0.0.1", tcp_port_}, ctl_, options);
    ASSERT_TRUE(gate.ok()) << gate.status().message();
    gate_ = std::move(gate).value();
    thread_ = std::thread([this] { ctl_.Run(); });
  }
  void TearDown() override {
    ctl_.Stop();
    thread_.join();
    gate_.reset();
    EXPECT_FALSE(std::filesystem::exists(folder_ + "/s"));
    std::filesystem::remove_all(folder_);
  }
  UniqueFd Connect() {
    UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (folder_ + "/s").copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  UniqueFd ConnectFrom(const char* source) {
    UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    EXPECT_EQ(::inet_pton(AF_INET, source, &address.sin_addr), 1);
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(tcp_port_);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address), 0);
    return fd;
  }
  static uint16_t FreePort() {
    const UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
    EXPECT_EQ(::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
    return ntohs(address.sin_port);
  }
  // Closed by the gate, or passed on.
  bool Refused(const UniqueFd& fd, size_t passed_before) {
    for (;;) {
      pollfd wait{fd.get(), POLLIN, 0};
      if (::poll(&wait, 1, 5) > 0) return true;
      const std::lock_guard lock(mutex_);
      if (passed_.size() > passed_before) return false;
    }
  }
  bool Enter(std::vector<UniqueFd>* inside) {
    const size_t before = Passed();
    UniqueFd fd = Connect();
    if (Refused(fd, before)) return false;
    inside->push_back(std::move(fd));
    return true;
  }
  size_t Passed() {
    const std::lock_guard lock(mutex_);
    return passed_.size();
  }

  uint16_t tcp_port_ = 0;  // 0: the unix socket
  std::string folder_;
  base::Executor ctl_;
  std::unique_ptr<Gate> gate_;
  std::mutex mutex_;
  std::vector<UniqueFd> passed_;
  std::thread thread_;
};

TEST(RoomTest, AFewAccountsLeaveSomeToOthers) {
  constexpr Room kRoom{.most = 3072, .most_of_one = 1088};
  size_t total = 0;
  const auto fill = [&](bool is_root = false) {
    size_t mine = 0;
    while (kRoom.For(total, mine, is_root)) ++mine, ++total;
    return mine;
  };
  EXPECT_EQ(fill(), 1088U);
  EXPECT_EQ(fill(), 1088U);
  EXPECT_EQ(fill(), 832U) << "half of what is left with the reserve";
  for (int i = 0; i < 20; ++i) EXPECT_GE(fill(), Room::kFew);
  while (fill() > 0) {
  }
  EXPECT_EQ(fill(true), 3072U / 8);
  EXPECT_TRUE((Room{.most = 1, .most_of_one = 1}.For(0, 0, false)));
  EXPECT_FALSE((Room{.most = 1, .most_of_one = 1}.For(1, 0, true)));
}

TEST_F(GateTest, EverybodyMayConnect) {
  Open(10, 10);
  struct stat found {};
  ASSERT_EQ(::stat((folder_ + "/s").c_str(), &found), 0);
  EXPECT_EQ(found.st_mode & 0777, 0666U);
}

TEST_F(GateTest, OneMoreThanAUserMayHaveIsClosed) {
  Open(100, 3);
  std::vector<UniqueFd> inside;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(Enter(&inside));
  EXPECT_FALSE(Enter(&inside));
  EXPECT_FALSE(Enter(&inside));
  EXPECT_EQ(Passed(), 3U);
}

TEST_F(GateTest, OneMoreThanThereMayBeIsClosed) {
  Open(2, 50);
  std::vector<UniqueFd> inside;
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(Enter(&inside));
  EXPECT_FALSE(Enter(&inside));
}

TEST_F(GateTest, ThoseThatWereClosedMakeRoomAlsoWhenTheirNumbersAreUsedAgain) {
  Open(100, 3);
  std::vector<UniqueFd> inside;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(Enter(&inside));
  std::vector<UniqueFd> others;
  {
    const std::lock_guard lock(mutex_);
    passed_.clear();  // whoever took them over closed them …
    for (int i = 0; i < 6; ++i)
      others.emplace_back(::socket(AF_UNIX, SOCK_STREAM, 0));  // … and the numbers are others'
  }
  // Looked at again now and then, not with every knock.
  bool entered = false;
  for (int i = 0; i < 1000 && !entered; ++i) entered = Enter(&inside);
  EXPECT_TRUE(entered);
}

TEST_F(GateTest, AnAddressHasAsManyAsAnAddressMayHave) {
  tcp_port_ = FreePort();
  Open(100, 2);
  std::vector<UniqueFd> kept;
  for (const char* address : {"127.0.0.1", "127.0.0.2"}) {
    for (int i = 0; i < 4; ++i) {
      const size_t before = Passed();
      kept.push_back(ConnectFrom(address));
      EXPECT_EQ(Refused(kept.back(), before), i >= 2) << address;
    }
  }
}

// As calls that are opened and reset without end, which nobody can see in TLS.
TEST_F(GateTest, AnAddressThatFloodsIsKeptOut) {
  tcp_port_ = FreePort();
  Open(100, 10);
  const UniqueFd flooder = ConnectFrom("127.0.0.1"), other = ConnectFrom("127.0.0.2");
  const auto passed = [this](size_t count) {
    while (Passed() < count) std::this_thread::yield();
  };
  passed(2);
  std::thread reader([this] {  // gRPC
    std::vector<char> room(1 << 16);
    int fd = -1;
    {
      const std::lock_guard lock(mutex_);
      fd = passed_.front().get();
    }
    for (;;) {
      pollfd wait{fd, POLLIN, 0};
      ::poll(&wait, 1, -1);
      if (::recv(fd, room.data(), room.size(), 0) <= 0 && errno != EAGAIN) return;
    }
  });
  const std::vector<char> bytes(1 << 16);
  while (::send(flooder.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) > 0) {
  }
  reader.join();
  EXPECT_TRUE(Refused(ConnectFrom("127.0.0.1"), 2)) << "for some seconds";
  const UniqueFd another = ConnectFrom("127.0.0.2");
  EXPECT_FALSE(Refused(another, 2));
  pollfd wait{other.get(), POLLIN | POLLHUP, 0};
  EXPECT_EQ(::poll(&wait, 1, 0), 0) << "who sends little keeps what he has";
}

}  // namespace
}  // namespace profd::auth
