#include "daemon/host/stand_in.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr size_t kMostHanging = 2;  // of a user's
constexpr size_t kPieceBytes = 64 << 10;
constexpr uint64_t kMillisecondNs = 1'000'000, kSecondNs = 1'000 * kMillisecondNs;
constexpr uint64_t kOnceNs = 2 * kSecondNs;         // for one question
constexpr uint64_t kRememberedNs = 10 * kSecondNs;  // one that has hung

// In front of each request and each answer.
struct Head {
  uint64_t bytes = 0;
  uint64_t cpu_ns = 0;  // of the processor, by the stand-in so far
};

// To the process that all of them are forked from: a new one, for the socket that comes along, or with no
// duty, the end of an old one.
struct Order {
  uint64_t number = 0;
  StandIn::Duty duty = nullptr;
};

bool ReadAll(int fd, void* to, size_t bytes) {
  auto* at = static_cast<char*>(to);
  while (bytes > 0) {
    const ssize_t got = ::read(fd, at, bytes);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

bool WriteAll(int fd, const void* from, size_t bytes) {
  const auto* at = static_cast<const char*>(from);
  while (bytes > 0) {
    const ssize_t put = ::send(fd, at, bytes, MSG_NOSIGNAL);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return false;
    at += put;
    bytes -= static_cast<size_t>(put);
  }
  return true;
}

// When that is gone, so is this one, however it waits, unless the kernel does not let it.
void EndWith(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

[[noreturn]] void Work(int channel, StandIn::Duty duty) {
  const StandIn::Answer answer = duty();
  for (;;) {
    Head head;
    if (!ReadAll(channel, &head, sizeof head)) ::_exit(0);
    std::string request(head.bytes, '\0');
    if (!ReadAll(channel, request.data(), request.size())) ::_exit(0);
    const std::string said = answer(request);
    head = {said.size(), base::ReadClockNs(CLOCK_PROCESS_CPUTIME_ID)};
    if (!WriteAll(channel, &head, sizeof head) || !WriteAll(channel, said.data(), said.size())) ::_exit(0);
  }
}

// With no thread but this one: what it forks has no locks that somebody else held.
class Nursery {
 public:
  explicit Nursery(int orders) : orders_(orders), self_(::getpid()) {}

  [[noreturn]] void Serve() {
    sigset_t children, before;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children, &before);
    struct sigaction wake {};
    wake.sa_handler = [](int) {};
    ::sigaction(SIGCHLD, &wake, nullptr);
    for (;;) {
      pollfd waits{orders_, POLLIN, 0};
      ::ppoll(&waits, 1, nullptr, &before);
      for (pid_t gone; (gone = ::waitpid(-1, nullptr, WNOHANG)) > 0;)
        std::erase_if(children_, [gone](const auto& child) { return child.second == gone; });
      if (waits.revents != 0) Obey();
    }
  }

 private:
  void Obey() {
    Order order;
    iovec place{&order, sizeof order};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(orders_, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != sizeof order) ::_exit(0);  // profd is gone
    UniqueFd channel;
    if (const cmsghdr* passed = CMSG_FIRSTHDR(&message); passed != nullptr) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(passed), sizeof fd);
      channel.Reset(fd);
    }
    if (order.duty == nullptr) {
      // Not reaped yet, so that its number is still its own.
      if (const auto child = children_.find(order.number); child != children_.end())
        ::kill(child->second, SIGKILL);
      return;
    }
    const pid_t pid = ::fork();
    if (pid == 0) {
      EndWith(self_);
      ::close(orders_);
      ::prctl(PR_SET_NAME, "profd-stand-in");
      Work(channel.get(), order.duty);
    }
    if (pid > 0) children_[order.number] = pid;
  }

  const int orders_;
  const pid_t self_;
  std::map<uint64_t, pid_t> children_;  // by the number of the order
};

struct Orders {
  std::once_flag once;
  Status status;
  UniqueFd channel;
  std::atomic<uint64_t> last{0};
};
Orders& TheOrders() {
  static auto* orders = new Orders;  // threads may still want some while profd ends
  return *orders;
}

// Those that were left behind: by their channels, which the kernel closes when they have gone. One that could
// be killed counts for a while all the same: else a user could have profd wait again and again.
struct Hanging {
  struct Left {
    UniqueFd channel;
    uint64_t since_ns;
  };
  std::mutex mutex;
  std::map<uid_t, std::vector<Left>> by_user;

  size_t Count(uid_t user) {
    const auto of = by_user.find(user);
    if (of == by_user.end()) return 0;
    std::erase_if(of->second, [now_ns = base::MonotonicNs()](const Left& left) {
      pollfd peer{left.channel.get(), 0, 0};
      const bool gone = ::poll(&peer, 1, 0) > 0 && (peer.revents & POLLHUP) != 0;
      return gone && now_ns - left.since_ns > kRememberedNs;
    });
    const size_t count = of->second.size();
    if (count == 0) by_user.erase(of);
    return count;
  }
};
Hanging& TheHanging() {
  static auto* hanging = new Hanging;
  return *hanging;
}

std::atomic<uint64_t> g_cpu_ns{0};

void Fork(Orders& orders) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    orders.status = Status::FromErrno("make a socket for the processes that read memory");
    return;
  }
  orders.channel.Reset(ends[0]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::close(ends[0]);
    // A service manager, and a terminal, tell all of them to stop; profd still needs them to.
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // Whoever reads what profd says must not wait for one that hangs.
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), fd);
    ::prctl(PR_SET_NAME, "profd-nursery");
    Nursery(ends[1]).Serve();
  }
  ::close(ends[1]);
  if (pid < 0) {
    orders.status = Status::FromErrno("start a process that others are started from");
    return;
  }
  const timeval patience{1, 0};
  ::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

bool Send(const Order& order, int passed) {
  Order copy = order;
  iovec place{&copy, sizeof copy};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &place;
  message.msg_iovlen = 1;
  if (passed >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET;
    header->cmsg_type = SCM_RIGHTS;
    header->cmsg_len = CMSG_LEN(sizeof(int));
    std::memcpy(CMSG_DATA(header), &passed, sizeof passed);
  }
  return ::sendmsg(TheOrders().channel.get(), &message, MSG_NOSIGNAL) == sizeof copy;
}

}  // namespace

Status StandIn::Prepare() {
  Orders& orders = TheOrders();
  std::call_once(orders.once, [&orders] { Fork(orders); });
  return orders.status;
}

Result<StandIn> StandIn::Start(uid_t user, Duty duty) {
  PROFD_RETURN_IF_ERROR(Prepare());
  {
    const std::lock_guard lock(TheHanging().mutex);
    if (const size_t count = TheHanging().Count(user); count >= kMostHanging) {
      return Status(Code::kResourceExhausted,
                    "what reads the memory of user " + std::to_string(user) + "'s processes has hung in it " +
                        std::to_string(count) +
                        " times: see to the mounts that their files are on, or end them");
    }
  }
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    return Status::FromErrno("make a socket for a process that reads memory");
  UniqueFd own(ends[0]);
  const UniqueFd other(ends[1]);
  const uint64_t number = ++TheOrders().last;
  if (!Send({number, duty}, other.get()))
    return Status::FromErrno(
        "start a process that reads memory (does profd-nursery run? else restart profd)");
  return StandIn(user, number, std::move(own));
}

Result<std::string> StandIn::AskOnce(uid_t user, Duty duty, std::string_view request) {
  PROFD_ASSIGN_OR_RETURN(StandIn stand_in, Start(user, duty));
  return stand_in.Ask(request, {kOnceNs, [] { return false; }});
}

Status StandIn::GiveUp(bool hangs) {
  if (!hangs) {
    channel_.Reset();
    return {Code::kInternal, "the process that reads the memory of user " + std::to_string(user_) +
                                 "'s processes has died: is there memory for it?"};
  }
  Send({number_, nullptr}, -1);
  const std::lock_guard lock(TheHanging().mutex);
  TheHanging().by_user[user_].push_back({std::move(channel_), base::MonotonicNs()});
  return {Code::kDeadlineExceeded,
          "the memory of processes of user " + std::to_string(user_) + " does not answer"};
}

Result<std::string> StandIn::Ask(std::string_view request, const Meanwhile& meanwhile) {
  if (!channel_) return Status(Code::kInternal, "a process that reads memory has hung before");
  Head head{request.size(), 0};
  std::string out(reinterpret_cast<const char*>(&head), sizeof head), in;
  out += request;
  size_t sent = 0, got = 0, wanted = sizeof head;
  uint64_t next_ns = base::MonotonicNs();
  const uint64_t end_ns = next_ns + kPatienceNs;
  for (next_ns += meanwhile.every_ns;;) {
    const uint64_t now_ns = base::MonotonicNs();
    if (now_ns >= end_ns) return GiveUp(true);
    if (now_ns >= next_ns) {
      if (meanwhile.go_on && !meanwhile.go_on()) return GiveUp(true);
      next_ns = now_ns + meanwhile.every_ns;
    }
    const bool sends = sent < out.size();
    pollfd waits{channel_.get(), static_cast<short>(sends ? POLLOUT : POLLIN), 0};
    const uint64_t left_ns = std::min(next_ns, end_ns) - now_ns;
    const int ready = ::poll(&waits, 1, static_cast<int>((left_ns + kMillisecondNs - 1) / kMillisecondNs));
    if (ready <= 0) continue;
    if (sends) {
      const ssize_t put =
          ::send(channel_.get(), out.data() + sent, out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (put < 0 && errno != EAGAIN && errno != EINTR) return GiveUp(false);
      sent += static_cast<size_t>(std::max<ssize_t>(put, 0));
      continue;
    }
    in.resize(std::min(wanted, got + kPieceBytes));
    const ssize_t more = ::recv(channel_.get(), in.data() + got, in.size() - got, MSG_DONTWAIT);
    if (more == 0 || (more < 0 && errno != EAGAIN && errno != EINTR)) return GiveUp(false);
    got += static_cast<size_t>(std::max<ssize_t>(more, 0));
    if (got == sizeof head && wanted == sizeof head) {
      std::memcpy(&head, in.data(), sizeof head);
      wanted += head.bytes;
      g_cpu_ns += head.cpu_ns - std::exchange(cpu_ns_, head.cpu_ns);
    }
    if (got == wanted && got >= sizeof head) return in.substr(sizeof head);
  }
}

uint64_t StandIn::CpuNs() { return g_cpu_ns; }

}  // namespace profd::host
