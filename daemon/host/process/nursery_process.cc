#include "daemon/host/process/nursery_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "daemon/host/process/weights.h"

namespace profd::host {

using base::UniqueFd;

namespace {

constexpr uint64_t kSecondNs = 1'000'000'000;
constexpr timespec kWeighEvery{1, 0};
constexpr ptrdiff_t kMostNice = 5;

// A nursery that was executed has the same program elsewhere in its memory. A function is as far from this
// one in every process.
void Here() {}

template <typename Function>
intptr_t Distance(Function function) {
  return function == nullptr ? 0 : reinterpret_cast<intptr_t>(function) - reinterpret_cast<intptr_t>(&Here);
}
template <typename Function>
Function At(intptr_t distance) {
  return distance == 0 ? nullptr
                       : reinterpret_cast<Function>(reinterpret_cast<intptr_t>(&Here) + distance);  // NOLINT
}

struct SentOrder {
  uint64_t number = 0;
  intptr_t work = 0, duty = 0;
  uid_t user = 0;
};

// When that is gone, so is this one, however it waits, unless the kernel does not let it.
void EndWith(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
}

// Where profd's memory is at its limit the kernel ends one of these, not profd: what they hold is as much as
// their user's program makes them read.
void GoFirst() {
  const UniqueFd file(::open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC));
  [[maybe_unused]] const ssize_t written = ::write(file.get(), "1000", 4);
}

// Of one user's each stands behind those before it, and all after the fifth behind anybody's first: for each
// step of niceness a process has a fifth less of the processors. Not further, so that it still gets to answer
// in time.
void StandBack(int others) {
  if (others > 0) ::setpriority(PRIO_PROCESS, 0, ::getpriority(PRIO_PROCESS, 0) + others);
}

// With no thread but this one: what it forks has no locks that somebody else held.
class Process {
 public:
  explicit Process(UniqueFd orders) : orders_(std::move(orders)), self_(::getpid()) {}

  [[noreturn]] void Serve() {
    sigset_t children, before;
    sigemptyset(&children);
    sigaddset(&children, SIGCHLD);
    ::sigprocmask(SIG_BLOCK, &children, &before);
    struct sigaction wake {};
    wake.sa_handler = [](int) {};
    ::sigaction(SIGCHLD, &wake, nullptr);
    for (;;) {
      pollfd waits{orders_.get(), POLLIN, 0};
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
    SentOrder order;
    iovec place{&order, sizeof order};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = ::recvmsg(orders_.get(), &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got != sizeof order) ::_exit(0);  // profd is gone
    UniqueFd channel;
    if (const cmsghdr* passed = CMSG_FIRSTHDR(&message); passed != nullptr) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(passed), sizeof fd);
      channel.Reset(fd);
    }
    if (order.work == 0) {
      // Not reaped yet, so that its number is still its own.
      if (const auto child = children_.find(order.number); child != children_.end())
        ::kill(child->second.pid, SIGKILL);
      return;
    }
    const auto others =
        std::ranges::count(children_, order.user, [](const auto& c) { return c.second.user; });
    const pid_t pid = ::fork();
    if (pid == 0) {
      EndWith(self_);
      orders_.Reset();
      StandBack(static_cast<int>(std::min<ptrdiff_t>(others, kMostNice)));
      ::prctl(PR_SET_NAME, "profd-stand-in");
      GoFirst();
      TextChannel texts(std::move(channel));
      At<StandInWork>(order.work)(texts, At<StandInDuty>(order.duty));
      ::_exit(0);
    }
    if (pid > 0) children_[order.number] = {.pid = pid, .user = order.user};
  }

  UniqueFd orders_;
  const pid_t self_;
  std::map<uint64_t, Child> children_;  // by the number of the order
  uint64_t weighed_ns_ = 0;
};

}  // namespace

bool NurseryOrder::Send(int channel, int passed) const {
  SentOrder sent{.number = number, .work = Distance(work), .duty = Distance(duty), .user = user};
  iovec place{&sent, sizeof sent};
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
  return ::sendmsg(channel, &message, MSG_NOSIGNAL) == sizeof sent;
}

void RunNursery(UniqueFd orders) {
  // A service manager, and a terminal, tell all of them to stop; profd still needs them to.
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGQUIT}) ::signal(signal, SIG_IGN);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // Whoever reads what profd says must not wait for one that hangs.
  const UniqueFd nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) ::dup2(nothing.get(), fd);
  ::prctl(PR_SET_NAME, "profd-nursery");
  Process(std::move(orders)).Serve();
}

}  // namespace profd::host
