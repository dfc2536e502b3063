// A real socket, a real executor, and peers of every kind of manners.
#include "daemon/auth/door/door.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <future>
#include <optional>
#include <random>
#include <thread>
#include <type_traits>
#include <vector>

#include "base/version.h"
#include "libagent/abi/door.h"

namespace profd::auth {
namespace {

using abi::DoorHello;
using abi::DoorStatus;
using abi::DoorWelcome;
using base::UniqueFd;

DoorHello Hello() {
  return {abi::kDoorMagic, abi::kDoorVersion, static_cast<uint8_t>(abi::DoorRole::kClient), 0};
}

constexpr DoorHello kAgentHello{abi::kDoorMagic, abi::kDoorVersion,
                                static_cast<uint8_t>(abi::DoorRole::kAgent), 0};

size_t OpenDescriptors() {
  size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) ++count;
  return count;
}

class DoorTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "doorXXXXXX";
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
    path_ = folder_ + "/door";
  }
  void TearDown() override {
    if (thread_.joinable()) {
      OnCtl([this] { door_.reset(); });
      ctl_.Stop();
      thread_.join();
    }
    std::filesystem::remove_all(folder_);
  }

  void Open(Door::Options options = {}) {
    options.look = [](uid_t, UniqueFd socket, const Door::Options::Looked& looked) {
      looked(base::LookAtPassed(socket.get()));
    };
    base::Result<std::unique_ptr<Door>> door = Door::Start(path_, ctl_, tickets_, options);
    ASSERT_TRUE(door.ok()) << door.status().message();
    door_ = std::move(door).value();
    thread_ = std::thread([this] { ctl_.Run(); });
  }

  template <typename Work>
  std::invoke_result_t<Work> OnCtl(Work work) {
    std::packaged_task<decltype(work())()> task(std::move(work));
    auto result = task.get_future();
    ctl_.Post([&task] { task(); });
    return result.get();
  }
  // The kernel tells the door of a close in its own time: waits until it has, however long that takes.
  void AwaitConnections(size_t count) {
    while (OnCtl([this] { return door_->connections(); }) != count) std::this_thread::yield();
  }

  UniqueFd Connect() const {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path_.copy(address.sun_path, sizeof(address.sun_path) - 1);
    UniqueFd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
    return fd;
  }

  static void Send(const UniqueFd& fd, const void* bytes, size_t size, const std::vector<int>& passed = {}) {
    iovec part{const_cast<void*>(bytes), size};
    msghdr message{};
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    std::vector<char> control(CMSG_SPACE(passed.size() * sizeof(int)));
    if (!passed.empty()) {
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      cmsghdr* item = CMSG_FIRSTHDR(&message);
      item->cmsg_level = SOL_SOCKET;
      item->cmsg_type = SCM_RIGHTS;
      item->cmsg_len = CMSG_LEN(passed.size() * sizeof(int));
      std::memcpy(CMSG_DATA(item), passed.data(), passed.size() * sizeof(int));
    }
    ::sendmsg(fd.get(), &message, MSG_NOSIGNAL);
  }

  // nullopt: the door closed without a word.
  static std::optional<DoorWelcome> Receive(const UniqueFd& fd) {
    DoorWelcome welcome{};
    const ssize_t got = ::recv(fd.get(), &welcome, sizeof(welcome), 0);
    if (got <= 0) return std::nullopt;
    EXPECT_EQ(got, static_cast<ssize_t>(sizeof(welcome)));
    EXPECT_EQ(welcome.magic, abi::kDoorMagic);
    EXPECT_EQ(welcome.version, abi::kDoorVersion);
    return welcome;
  }
  static bool IsClosed(const UniqueFd& fd) {
    char byte;
    return ::recv(fd.get(), &byte, 1, 0) <= 0;
  }

  static std::string TicketOf(const DoorWelcome& welcome) { return {welcome.ticket, sizeof(welcome.ticket)}; }
  static DoorStatus StatusOf(const std::optional<DoorWelcome>& welcome) {
    EXPECT_TRUE(welcome.has_value()) << "closed without an answer";
    return welcome ? static_cast<DoorStatus>(welcome->status) : DoorStatus::kFailed;
  }

  // Sends it on a connection of its own: a refusal with a reason, and closed.
  void ExpectRefused(DoorStatus status, const void* bytes, size_t size, const std::vector<int>& passed = {}) {
    const UniqueFd fd = Connect();
    Send(fd, bytes, size, passed);
    const std::optional<DoorWelcome> answer = Receive(fd);
    EXPECT_EQ(StatusOf(answer), status);
    if (answer) {
      EXPECT_NE(answer->reason[0], '\0');
      EXPECT_EQ(TicketOf(*answer), std::string(sizeof(answer->ticket), '\0'));
    }
    EXPECT_TRUE(IsClosed(fd));
  }

  void ExpectRoomForThree();

  std::string folder_;
  std::string path_;
  base::Executor ctl_;
  Tickets tickets_;
  std::unique_ptr<Door> door_;
  std::thread thread_;
};

TEST_F(DoorTest, WelcomesWithATicketForWhoTheKernelSaysItIs) {
  Open();
  const UniqueFd fd = Connect();
  const DoorHello hello = Hello();
  Send(fd, &hello, sizeof(hello));
  const std::optional<DoorWelcome> welcome = Receive(fd);
  ASSERT_EQ(StatusOf(welcome), DoorStatus::kWelcome);
  EXPECT_STREQ(welcome->profd_version, base::kVersion);
  EXPECT_STREQ(welcome->reason, "");
  base::Result<Caller> caller = tickets_.Find(TicketOf(*welcome));
  ASSERT_TRUE(caller.ok());
  EXPECT_EQ(caller->uid, ::getuid());
  EXPECT_EQ(caller->gid, ::getgid());
  EXPECT_EQ(caller->pid, ::getpid());
}

TEST_F(DoorTest, TicketDiesWithTheConnection) {
  Open();
  UniqueFd fd = Connect();
  const DoorHello hello = Hello();
  Send(fd, &hello, sizeof(hello));
  const std::string ticket = TicketOf(*Receive(fd));
  AwaitConnections(1);
  EXPECT_TRUE(tickets_.Find(ticket).ok());
  fd.Reset();
  AwaitConnections(0);
  EXPECT_FALSE(tickets_.Find(ticket).ok());
}

TEST_F(DoorTest, TicketDiesWithTheDoor) {
  Open();
  const UniqueFd fd = Connect();
  const DoorHello hello = Hello();
  Send(fd, &hello, sizeof(hello));
  const std::string ticket = TicketOf(*Receive(fd));
  OnCtl([this] { door_.reset(); });
  EXPECT_FALSE(tickets_.Find(ticket).ok());
  EXPECT_TRUE(IsClosed(fd));
  EXPECT_FALSE(std::filesystem::exists(path_));
}

TEST_F(DoorTest, AgentsTakeASeatAndLeaveIt) {
  const UniqueFd memfd(::open("/dev/null", O_RDONLY));
  const UniqueFd wake(::open("/dev/zero", O_RDONLY));
  std::vector<pid_t> taken;
  std::vector<uint64_t> left;
  Door::Options options;
  options.max_agents = options.max_agents_per_uid = 8;
  options.take_seat = [&](const Caller& caller) -> base::Result<AgentSeat> {
    if (taken.size() == 1) return base::Status(base::Code::kResourceExhausted, "full");
    taken.push_back(caller.pid);
    return AgentSeat{77, memfd.get(), wake.get()};
  };
  options.leave_seat = [&](uint64_t seat) { left.push_back(seat); };
  Open(options);
  UniqueFd fd = Connect();
  Send(fd, &kAgentHello, sizeof(kAgentHello));
  DoorWelcome welcome{};
  iovec part{&welcome, sizeof(welcome)};
  alignas(cmsghdr) char control[CMSG_SPACE(abi::kAgentDescriptors * sizeof(int))];
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof(control);
  ASSERT_EQ(::recvmsg(fd.get(), &message, MSG_CMSG_CLOEXEC), static_cast<ssize_t>(sizeof(welcome)));
  ASSERT_EQ(StatusOf(welcome), DoorStatus::kWelcome);
  int brought[abi::kAgentDescriptors];
  ASSERT_NE(CMSG_FIRSTHDR(&message), nullptr);
  std::memcpy(brought, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof(brought));
  const UniqueFd first(brought[0]);
  const UniqueFd second(brought[1]);
  for (const auto& [sent, received] : {std::pair(&memfd, &first), std::pair(&wake, &second)}) {
    struct stat here {};
    struct stat there {};
    ASSERT_EQ(::fstat(sent->get(), &here), 0);
    ASSERT_EQ(::fstat(received->get(), &there), 0);
    EXPECT_EQ(here.st_rdev, there.st_rdev);
  }
  base::Result<Tickets::Agent> agent = tickets_.FindAgent(TicketOf(welcome));
  ASSERT_TRUE(agent.ok());
  EXPECT_EQ(agent->seat, 77U);
  EXPECT_EQ(agent->caller.pid, ::getpid());

  ExpectRefused(DoorStatus::kBusy, &kAgentHello, sizeof(kAgentHello));
  OnCtl([&] {
    EXPECT_EQ(taken, std::vector<pid_t>{::getpid()});
    EXPECT_TRUE(left.empty());
  });
  fd.Reset();
  AwaitConnections(0);
  OnCtl([&] { EXPECT_EQ(left, std::vector<uint64_t>{77}); });
}

TEST_F(DoorTest, WithoutSeatsAgentsAreTurnedAway) {
  Open();
  ExpectRefused(DoorStatus::kFailed, &kAgentHello, sizeof(kAgentHello));
}

TEST_F(DoorTest, AgentsTakeNoClientsPlaceNorClientsAnAgents) {
  const UniqueFd null(::open("/dev/null", O_RDONLY));
  Door::Options options;
  options.max_connections_per_uid = 2;
  options.max_agents = options.max_agents_per_uid = 3;
  options.take_seat = [&, seat = uint64_t{0}](const Caller&) mutable -> base::Result<AgentSeat> {
    return AgentSeat{++seat, null.get(), null.get()};
  };
  options.leave_seat = [](uint64_t) {};
  Open(options);
  const DoorHello client = Hello();
  std::vector<UniqueFd> held;
  for (const DoorHello& hello : {client, kAgentHello, client, kAgentHello}) {
    held.push_back(Connect());
    Send(held.back(), &hello, sizeof(hello));
    EXPECT_EQ(StatusOf(Receive(held.back())), DoorStatus::kWelcome);
  }
  ExpectRefused(DoorStatus::kBusy, &client, sizeof(client));
  held.push_back(Connect());
  Send(held.back(), &kAgentHello, sizeof(kAgentHello));
  EXPECT_EQ(StatusOf(Receive(held.back())), DoorStatus::kWelcome);
  held.erase(held.begin());
  AwaitConnections(4);
  held.push_back(Connect());
  Send(held.back(), &client, sizeof(client));
  EXPECT_EQ(StatusOf(Receive(held.back())), DoorStatus::kWelcome);
}

TEST_F(DoorTest, PassesTheOutputDirectoryOn) {
  Open();
  const UniqueFd dir(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY));
  const UniqueFd fd = Connect();
  DoorHello hello = Hello();
  hello.flags = abi::kDoorOutputDir;
  Send(fd, &hello, sizeof(hello), {dir.get()});
  const std::optional<DoorWelcome> welcome = Receive(fd);
  ASSERT_EQ(StatusOf(welcome), DoorStatus::kWelcome);
  base::Result<PassedDir> taken = tickets_.TakeOutputDir(TicketOf(*welcome));
  ASSERT_TRUE(taken.ok()) << taken.status().message();
  struct stat sent {};
  struct stat received {};
  ASSERT_EQ(::fstat(dir.get(), &sent), 0);
  ASSERT_EQ(::fstat(taken->fd.get(), &received), 0);
  EXPECT_EQ(sent.st_ino, received.st_ino);
  EXPECT_NE(::fcntl(taken->fd.get(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(DoorTest, RefusesWhatIsNotAHello) {
  Open();
  DoorHello hello = Hello();
  hello.magic ^= 1;
  ExpectRefused(DoorStatus::kMalformed, &hello, sizeof(hello));
  hello = Hello();
  ++hello.version;
  ExpectRefused(DoorStatus::kVersion, &hello, sizeof(hello));
  for (const int role : {0, 3, 255}) {
    hello = Hello();
    hello.role = static_cast<uint8_t>(role);
    ExpectRefused(DoorStatus::kMalformed, &hello, sizeof(hello));
  }
  hello = Hello();
  hello.flags = 0x80;
  ExpectRefused(DoorStatus::kMalformed, &hello, sizeof(hello));
  hello = Hello();
  ExpectRefused(DoorStatus::kMalformed, &hello, sizeof(hello) - 1);
  char longer[sizeof(hello) + 1] = {};
  std::memcpy(longer, &hello, sizeof(hello));
  ExpectRefused(DoorStatus::kMalformed, longer, sizeof(longer));
}

TEST_F(DoorTest, RefusesWrongDescriptorsAndKeepsNone) {
  Open();
  AwaitConnections(0);
  const UniqueFd dir(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY));
  const UniqueFd file(::open("/dev/null", O_RDONLY));
  const size_t before = OpenDescriptors();
  DoorHello hello = Hello();
  ExpectRefused(DoorStatus::kMalformed, &hello, sizeof(hello), {dir.get()});  // not announced
  hello.flags = abi::kDoorOutputDir;
  ExpectRefused(DoorStatus::kMalformed, &hello, sizeof(hello));  // announced, not sent
  ExpectRefused(DoorStatus::kOutputDir, &hello, sizeof(hello), {file.get()});
  ExpectRefused(DoorStatus::kMalformed, &hello, sizeof(hello), {dir.get(), dir.get()});
  ExpectRefused(DoorStatus::kMalformed, &hello, sizeof(hello), std::vector<int>(100, dir.get()));
  hello.role = static_cast<uint8_t>(abi::DoorRole::kAgent);
  ExpectRefused(DoorStatus::kMalformed, &hello, sizeof(hello), {dir.get()});
  UniqueFd empty = Connect();
  Send(empty, nullptr, 0, {dir.get()});
  EXPECT_TRUE(IsClosed(empty));
  empty.Reset();
  AwaitConnections(0);
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(DoorTest, ClosesOnASecondMessage) {
  Open();
  const UniqueFd fd = Connect();
  const DoorHello hello = Hello();
  Send(fd, &hello, sizeof(hello));
  const std::string ticket = TicketOf(*Receive(fd));
  Send(fd, &hello, sizeof(hello));
  EXPECT_TRUE(IsClosed(fd));
  AwaitConnections(0);
  EXPECT_FALSE(tickets_.Find(ticket).ok());
}

TEST_F(DoorTest, ClosesOnSilenceButNotOnTheWelcomed) {
  Door::Options options;
  options.hello_timeout_ns = 50'000'000;
  Open(options);
  const UniqueFd welcomed = Connect();
  const DoorHello hello = Hello();
  Send(welcomed, &hello, sizeof(hello));
  const std::string ticket = TicketOf(*Receive(welcomed));
  const UniqueFd silent = Connect();
  EXPECT_TRUE(IsClosed(silent));
  EXPECT_TRUE(tickets_.Find(ticket).ok());
  AwaitConnections(1);
}

// Fills the door, sees the next one refused, and that a place is free again once one has gone.
void DoorTest::ExpectRoomForThree() {
  std::vector<UniqueFd> held;
  for (int i = 0; i < 3; ++i) held.push_back(Connect());
  AwaitConnections(3);
  const UniqueFd refused = Connect();
  EXPECT_EQ(StatusOf(Receive(refused)), DoorStatus::kBusy);
  EXPECT_TRUE(IsClosed(refused));
  held.pop_back();
  AwaitConnections(2);
  const UniqueFd admitted = Connect();
  const DoorHello hello = Hello();
  Send(admitted, &hello, sizeof(hello));
  EXPECT_EQ(StatusOf(Receive(admitted)), DoorStatus::kWelcome);
}

TEST_F(DoorTest, LimitsConnectionsOfAUser) {
  Door::Options options;
  options.max_connections_per_uid = 3;
  Open(options);
  ExpectRoomForThree();
}

TEST_F(DoorTest, LimitsConnectionsInTotal) {
  Door::Options options;
  options.max_connections = 3;
  Open(options);
  ExpectRoomForThree();
}

TEST_F(DoorTest, SurvivesRandomBytes) {
  Door::Options options;
  options.max_connections = options.max_connections_per_uid = 4096;
  Open(options);
  AwaitConnections(0);
  const UniqueFd dir(::open(folder_.c_str(), O_RDONLY | O_DIRECTORY));
  const size_t before = OpenDescriptors();
  std::mt19937 random(20240607);
  for (int i = 0; i < 2000; ++i) {
    UniqueFd fd = Connect();
    std::vector<char> bytes(random() % 64);
    for (char& byte : bytes) byte = static_cast<char>(random());
    // Half of them begin like a real hello, to get further.
    const DoorHello hello = Hello();
    if (random() % 2 == 0 && bytes.size() >= 6) std::memcpy(bytes.data(), &hello, 6);
    Send(fd, bytes.data(), bytes.size(), std::vector<int>(random() % 7, dir.get()));
    if (random() % 2 == 0) ::shutdown(fd.get(), SHUT_WR);
    Receive(fd);  // or its end: who has gone before is not looked at
  }
  // Welcomed in turn, so all before it have been looked at.
  UniqueFd fd = Connect();
  const DoorHello hello = Hello();
  Send(fd, &hello, sizeof(hello));
  EXPECT_EQ(StatusOf(Receive(fd)), DoorStatus::kWelcome);
  fd.Reset();
  AwaitConnections(0);
  EXPECT_EQ(OpenDescriptors(), before);
}

TEST_F(DoorTest, RefusesAPathInUse) {
  Open();
  EXPECT_FALSE(Door::Start(path_, ctl_, tickets_).ok());
  EXPECT_TRUE(std::filesystem::exists(path_)) << "the loser must not remove the winner's socket";
}

}  // namespace
}  // namespace profd::auth
