#include "daemon/host/process/stand_in.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "daemon/host/process/weights.h"

namespace profd::host {

using base::Code;
using base::Result;
using base::Status;
using base::UniqueFd;

namespace {

constexpr size_t kMostHanging = 2;  // of a user's
constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr uint64_t kOnceNs = 4 * kSecondNs;  // for one question, on a busy node, too
constexpr uint64_t kStoodStillNs = kSecondNs / 10;
constexpr uint64_t kRememberedNs = 10 * kSecondNs;  // one that has hung
constexpr uint64_t kToGoNs = 5 * kSecondNs;         // when its work is over
constexpr size_t kBoardPlaces = 512;                // a page
constexpr timespec kWeighEvery{1, 0};

// To the process that all of them are forked from: a new one, for the socket that comes along, or with no
// work, the end of an old one.
struct Order {
  uint64_t number = 0;
  StandIn::Work work = nullptr;
  StandIn::Duty duty = nullptr;
  uid_t user = 0;  // whose processes it looks at
};

// When that is gone, so is this one, however it waits, unless the kernel does not let it.
void EndWith(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

void AnswerQuestions(TextChannel& channel, StandIn::Duty duty) {
  const StandIn::Answer answer = duty();
  while (!channel.gone()) {
    if (const auto request = channel.Next()) {
      channel.Put(answer(*request));
    } else {
      channel.Wait(kSecondNs);
      channel.Flush();
    }
  }
}

// Nobody who hangs may hold a socket of profd's, or its name, when profd has ended. Files stay open:
// stand-ins use some that only profd's first rights could open, such as the kernel's names and the programs
// of breakpoints.
void CloseSocketsBut(int kept) {
  std::vector<int> sockets;
  DIR* const folder = ::opendir("/proc/self/fd");
  if (folder == nullptr) return;
  while (const dirent* entry = ::readdir(folder)) {
    const int fd = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
    struct stat file {};
    if (fd > STDERR_FILENO && fd != kept && ::fstat(fd, &file) == 0 && S_ISSOCK(file.st_mode))
      sockets.push_back(fd);
  }
  ::closedir(folder);
  for (const int fd : sockets) ::close(fd);
}

// Where profd's memory is at its limit the kernel ends one of these, not profd: what they hold is as much as
// their user's program makes them read.
void GoFirst() {
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t written = ::write(file.get(), "1000", 4);
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
      ::ppoll(&waits, 1, children_.empty() ? nullptr : &kWeighEvery, &before);
      for (pid_t gone; (gone = ::waitpid(-1, nullptr, WNOHANG)) > 0;)
        std::erase_if(children_, [gone](const auto& child) { return child.second.pid == gone; });
      if (waits.revents != 0) Obey();
      const uint64_t now_ns = base::MonotonicNs();
      if (now_ns - weighed_ns_ < kSecondNs) continue;
      weighed_ns_ = now_ns;
      Weigh();
    }
  }

 private:
  struct Child {
    pid_t pid = 0;
    uid_t user = 0;
  };

  // Whoever asked one that has to go hears that it has died.
  void Weigh() {
    std::vector<Weight> weights;
    for (const auto& [number, child] : children_)
      weights.push_back({child.pid, child.user, PrivateBytes(child.pid)});
    for (const pid_t pid : TooHeavy(std::move(weights))) ::kill(pid, SIGKILL);
  }

  // Of "size resident shared …", in pages.
  static uint64_t PrivateBytes(pid_t pid) {
    const UniqueFd file(::open(("/proc/" + std::to_string(pid) + "/statm").c_str(), O_RDONLY | O_CLOEXEC));
    char text[128] = {};
    if (!file || ::read(file.get(), text, sizeof text - 1) <= 0) return 0;
    char* at = text;
    std::strtoull(at, &at, 10);
    const uint64_t resident = std::strtoull(at, &at, 10), shared = std::strtoull(at, &at, 10);
    return resident > shared ? (resident - shared) * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE)) : 0;
  }

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
    if (order.work == nullptr) {
      // Not reaped yet, so that its number is still its own.
      if (const auto child = children_.find(order.number); child != children_.end())
        ::kill(child->second.pid, SIGKILL);
      return;
    }
    const pid_t pid = ::fork();
    if (pid == 0) {
      EndWith(self_);
      ::close(orders_);
      ::prctl(PR_SET_NAME, "profd-stand-in");
      GoFirst();
      TextChannel texts(std::move(channel));
      order.work(texts, order.duty);
      ::_exit(0);
    }
    if (pid > 0) children_[order.number] = {.pid = pid, .user = order.user};
  }

  const int orders_;
  const pid_t self_;
  std::map<uint64_t, Child> children_;  // by the number of the order
  uint64_t weighed_ns_ = 0;
};

struct Orders {
  std::once_flag once;
  Status status;
  UniqueFd channel;
  std::atomic<uint64_t> last{0};
  std::atomic<uint64_t>* board = nullptr;
};
Orders& TheOrders() {
  static auto* orders = new Orders;  // threads may still want some while profd ends
  return *orders;
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

// Those that were left behind, and those whose work is over and that have not gone yet: by their channels,
// which the kernel closes when they have. One that has hung and could be killed counts for a while all the
// same: else a user could have profd wait again and again.
struct Hanging {
  struct Left {
    UniqueFd channel;
    uint64_t number, since_ns;
    bool hung;
  };
  std::mutex mutex;
  std::map<uid_t, std::vector<Left>> by_user;

  size_t Count(uid_t user) {
    Prune();
    const auto of = by_user.find(user);
    return of == by_user.end() ? 0 : static_cast<size_t>(std::ranges::count(of->second, true, &Left::hung));
  }
  void Prune() {
    const uint64_t now_ns = base::MonotonicNs();
    for (auto& [user, all] : by_user) {
      std::erase_if(all, [now_ns](Left& left) {
        pollfd peer{left.channel.get(), 0, 0};
        const bool gone = ::poll(&peer, 1, 0) > 0 && (peer.revents & POLLHUP) != 0;
        if (gone && (!left.hung || now_ns - left.since_ns > kRememberedNs)) return true;
        if (!left.hung && now_ns - left.since_ns > kToGoNs) {
          left.hung = true;
          Send({left.number, nullptr, nullptr}, -1);
        }
        return false;
      });
    }
    std::erase_if(by_user, [](const auto& of) { return of.second.empty(); });
  }
};
Hanging& TheHanging() {
  static auto* hanging = new Hanging;
  return *hanging;
}

std::atomic<uint64_t> g_cpu_ns{0};

void Fork(Orders& orders) {
  void* board = ::mmap(nullptr, kBoardPlaces * sizeof(std::atomic<uint64_t>), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (board == MAP_FAILED) {
    orders.status = Status::FromErrno("share a page with the processes that read memory");
    return;
  }
  orders.board = static_cast<std::atomic<uint64_t>*>(board);
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) {
    orders.status = Status::FromErrno("make a socket for the processes that read memory");
    return;
  }
  orders.channel.Reset(ends[0]);
  const pid_t pid = ::fork();
  if (pid == 0) {
    CloseSocketsBut(ends[1]);
    // A service manager, and a terminal, tell all of them to stop; profd still needs them to.
    for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
    sigset_t none;
    sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    // Whoever reads what profd says must not wait for one that hangs.
    const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), fd);
    ::prctl(PR_SET_NAME, "profd-nursery");
    base::ComeAsUsual();
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

}  // namespace

Status StandIn::Prepare() {
  Orders& orders = TheOrders();
  std::call_once(orders.once, [&orders] { Fork(orders); });
  return orders.status;
}

Result<StandIn> StandIn::Start(uid_t user, Work work, Duty duty) {
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
  if (!Send({number, work, duty, user}, other.get()))
    return Status::FromErrno(
        "start a process that reads memory (does profd-nursery run? else restart profd)");
  return StandIn(user, number, std::move(own));
}

Result<StandIn> StandIn::Start(uid_t user, Work work) { return Start(user, work, nullptr); }

Result<StandIn> StandIn::Start(uid_t user, Duty duty) { return Start(user, &AnswerQuestions, duty); }

std::span<std::atomic<uint64_t>> StandIn::Board() { return {TheOrders().board, kBoardPlaces}; }

Result<std::string> StandIn::AskOnce(uid_t user, Duty duty, std::string_view request) {
  PROFD_ASSIGN_OR_RETURN(StandIn stand_in, Start(user, duty));
  stand_in.Say(request);
  uint64_t end_ns = base::MonotonicNs() + kOnceNs;
  for (bool again = false;;) {
    PROFD_ASSIGN_OR_RETURN(std::optional<std::string> answer, stand_in.Hear());
    if (answer) return std::move(*answer);
    const uint64_t now_ns = base::MonotonicNs();
    if (now_ns >= end_ns) {
      // Where profd itself comes so late, the whole machine stood still, and the stand-in with it.
      if (now_ns - end_ns < kStoodStillNs || std::exchange(again, true)) return stand_in.GiveUp();
      end_ns = now_ns + kOnceNs;
    }
    stand_in.channel_.Wait(end_ns - now_ns);
  }
}

void StandIn::Say(std::string_view text) { channel_.Put(text); }

Result<std::optional<std::string>> StandIn::Hear() {
  channel_.Flush();
  std::optional<std::string> text = channel_.Next();
  if (text) g_cpu_ns += channel_.peer_cpu_ns() - std::exchange(cpu_ns_, channel_.peer_cpu_ns());
  if (!text && channel_.gone()) {
    Send({number_, nullptr, nullptr}, -1);  // what it has read may have become its master
    return Status(Code::kInternal, "the process that reads the memory of user " + std::to_string(user_) +
                                       "'s processes has died: is there memory for it?");
  }
  return text;
}

Status StandIn::GiveUp() {
  Send({number_, nullptr, nullptr}, -1);
  Leave(true);
  return {Code::kDeadlineExceeded,
          "the memory of processes of user " + std::to_string(user_) + " does not answer"};
}

StandIn::~StandIn() {
  if (channel_.fd() >= 0) Leave(false);
}

void StandIn::Leave(bool hung) {
  UniqueFd channel = channel_.Release();
  ::shutdown(channel.get(), SHUT_WR);  // its end
  const std::lock_guard lock(TheHanging().mutex);
  TheHanging().by_user[user_].push_back({std::move(channel), number_, base::MonotonicNs(), hung});
  TheHanging().Prune();
}

uint64_t StandIn::CpuNs() { return g_cpu_ns; }

}  // namespace profd::host
