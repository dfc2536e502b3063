#include "daemon/fabric/door.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <numeric>
#include <thread>

#include "tests/unit/fabric/recorded.h"

namespace profd::fabric {
namespace {

using base::UniqueFd;

constexpr int kPatienceMs = 60'000;

sockaddr_un AddressOf(const std::string& path, socklen_t* size) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path);
  *size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  return address;
}

class Speaker {
 public:
  // `own` empty: it has no address.
  Speaker(const std::string& own, const std::string& server)
      : fd_(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)), server_(server) {
    if (own.empty()) return;
    socklen_t size = 0;
    const sockaddr_un address = AddressOf(own, &size);
    EXPECT_EQ(::bind(fd_.get(), reinterpret_cast<const sockaddr*>(&address), size), 0);
  }
  void Say(const std::string& datagram) {
    socklen_t size = 0;
    const sockaddr_un address = AddressOf(server_, &size);
    EXPECT_EQ(::sendto(fd_.get(), datagram.data(), datagram.size(), 0,
                       reinterpret_cast<const sockaddr*>(&address), size),
              static_cast<ssize_t>(datagram.size()));
  }
  // And where it came from.
  std::string Hear(std::string* from = nullptr) {
    pollfd waits{fd_.get(), POLLIN, 0};
    EXPECT_EQ(::poll(&waits, 1, kPatienceMs), 1);
    std::string bytes(8192, '\0');
    sockaddr_un address{};
    socklen_t size = sizeof address;
    const ssize_t got =
        ::recvfrom(fd_.get(), bytes.data(), bytes.size(), 0, reinterpret_cast<sockaddr*>(&address), &size);
    EXPECT_GE(got, 0);
    bytes.resize(static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (from != nullptr) from->assign(address.sun_path, size - offsetof(sockaddr_un, sun_path));
    return bytes;
  }
  bool HearsNothing() {
    pollfd waits{fd_.get(), POLLIN, 0};
    return ::poll(&waits, 1, 0) == 0;
  }

 private:
  UniqueFd fd_;
  std::string server_;
};

class DoorTest : public testing::Test {
 protected:
  DoorTest() { folder_ = ::mkdtemp(folder_.data()); }
  ~DoorTest() override {
    if (thread_.joinable()) {
      ctl_.Stop();
      thread_.join();
    }
    door_.reset();
    std::filesystem::remove_all(folder_);
  }
  void Open(Sockets sockets) {
    door_ = Door::Open(std::move(sockets), ctl_, clients_);
    thread_ = std::thread([this] { ctl_.Run(); });
  }
  void OpenFile() {
    Sockets sockets;
    ASSERT_TRUE(sockets.BindFile(folder_).ok());
    Open(std::move(sockets));
  }
  std::string Server() const { return folder_ + "/dynolog"; }
  std::string Own(const std::string& name) const { return folder_ + "/dynoconfigclient" + name; }
  uint64_t Dropped(Drop why) const { return door_->dropped()[static_cast<size_t>(why)]; }
  std::vector<Client> Known() {
    std::promise<std::vector<Client>> told;
    ctl_.Post([&] { told.set_value(clients_.All()); });
    return told.get_future().get();
  }
  // Everything that was said before it has been heard.
  void Settle() {
    Speaker last(Own("-last"), Server());
    last.Say(kKinetoPoll);
    last.Hear();
  }

  std::string folder_ = testing::TempDir() + "profd-fabric-XXXXXX";
  base::Executor ctl_;
  Clients clients_{ctl_};
  std::unique_ptr<Door> door_;
  std::thread thread_;
};

TEST_F(DoorTest, AnswersFromTheSocketThatWasSpokenTo) {
  OpenFile();
  Speaker kineto(Own("1"), Server());
  kineto.Say(kKinetoPoll);
  std::string from;
  EXPECT_EQ(kineto.Hear(&from), kNothingToDo);
  EXPECT_EQ(from.substr(0, from.find('\0')), Server());
  Speaker monitor(Own("2"), Server());
  monitor.Say(kMonitorRegistration);
  monitor.Say(kTraceStatus);
  monitor.Say(kMonitorStatus);
  monitor.Say(kMonitorPoll);
  EXPECT_EQ(monitor.Hear(), kRegisteredAnswer);
  EXPECT_EQ(monitor.Hear(), kNothingToDo);
  const std::vector<Client> known = Known();
  ASSERT_EQ(known.size(), 2U);
  EXPECT_EQ(known[0].sender.pid, ::getpid());
  EXPECT_EQ(known[0].sender.uid, ::getuid());
}

TEST_F(DoorTest, ForgedOnesAreCountedAndNotAnswered) {
  OpenFile();
  Speaker speaker(Own("1"), Server());
  speaker.Say(std::string(39, 'x'));
  speaker.Say(std::string(200'000, 'x'));
  speaker.Say(Recorded(uint64_t{1} << 40, "req", ""));
  speaker.Say(Recorded(0, "data", ""));
  speaker.Say(Recorded(0, "req", ""));
  Speaker nameless("", Server());
  nameless.Say(kKinetoPoll);
  Settle();
  EXPECT_TRUE(speaker.HearsNothing());
  EXPECT_EQ(Dropped(Drop::kLength), 2U);
  EXPECT_EQ(Dropped(Drop::kSize), 1U);
  EXPECT_EQ(Dropped(Drop::kType), 1U);
  EXPECT_EQ(Dropped(Drop::kBody), 1U);
  EXPECT_EQ(Dropped(Drop::kSender), 1U);
}

// An abstract sender would abort at an answer from a file, and a file elsewhere is somebody else's folder.
TEST_F(DoorTest, WhoCannotBeAnsweredFromHereIsNot) {
  OpenFile();
  Speaker abstract(std::string("\0profd-fabric-", 14) + std::to_string(::getpid()), Server());
  abstract.Say(kKinetoPoll);
  std::filesystem::create_directory(folder_ + "/deeper");
  Speaker deeper(folder_ + "/deeper/client", Server());
  deeper.Say(kKinetoPoll);
  Speaker round(folder_ + "/deeper/../client", Server());
  round.Say(kKinetoPoll);
  Settle();
  EXPECT_EQ(Dropped(Drop::kSender), 3U);
  EXPECT_TRUE(abstract.HearsNothing());
  EXPECT_TRUE(deeper.HearsNothing());
}

// Between its word and the answer it makes its address another's.
TEST_F(DoorTest, AnAddressThatLeadsElsewhereIsNotAnswered) {
  Sockets sockets;
  ASSERT_TRUE(sockets.BindFile(folder_).ok());
  const std::string victims = folder_ + "/dynoconfigclient-victim";
  Speaker victim(victims, Server());
  ASSERT_EQ(::symlink(victims.c_str(), Own("-link").c_str()), 0);
  const std::string answer = PollAnswer("ACTIVITIES_LOG_FILE=/tmp/x\n");
  EXPECT_FALSE(sockets.Send({::getpid(), ::getuid(), 0, Own("-link")}, answer).ok());
  EXPECT_EQ(sockets.Send({::getpid(), ::getuid() + 1, 0, victims}, answer).code(),
            base::Code::kPermissionDenied)
      << "another user's socket";
  EXPECT_TRUE(victim.HearsNothing());
  EXPECT_TRUE(sockets.Send({::getpid(), ::getuid(), 0, victims}, answer).ok());
  EXPECT_EQ(victim.Hear(), answer);
}

TEST_F(DoorTest, ASocketThatLivesIsLeftAlone) {
  Sockets first, second;
  ASSERT_TRUE(first.BindFile(folder_).ok());
  EXPECT_EQ(second.BindFile(folder_).code(), base::Code::kAlreadyExists);
}

TEST_F(DoorTest, ASocketThatNobodyListensOnIsReplaced) {
  { Speaker dead(Server(), ""); }
  OpenFile();
  Settle();
}

// In a network namespace of its own, where nobody else has the name.
TEST_F(DoorTest, TheAbstractNameIsThatOfDynolog) {
  bool may = false;
  std::thread elsewhere([&] {
    may = ::unshare(CLONE_NEWNET) == 0;
    if (!may) return;
    const auto make = [] {
      UniqueFd made(::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
      const int on = 1;
      ::setsockopt(made.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
      return made;
    };
    Sockets sockets, late;
    UniqueFd made = make(), another = make();
    ASSERT_TRUE(sockets.BindAbstract(&made).ok());
    EXPECT_EQ(late.BindAbstract(&another).code(), base::Code::kAlreadyExists);
    EXPECT_TRUE(another) << "for the next try";
    Open(std::move(sockets));
    Speaker kineto(std::string("\0dynoconfigclient1\0", 19), std::string("\0dynolog\0", 9));
    kineto.Say(kKinetoPoll);
    std::string from;
    EXPECT_EQ(kineto.Hear(&from), kNothingToDo);
    EXPECT_EQ(from, std::string("\0dynolog\0", 9));
  });
  elsewhere.join();
  if (!may) GTEST_SKIP() << "takes CAP_SYS_ADMIN";
}

}  // namespace
}  // namespace profd::fabric
