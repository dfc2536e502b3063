#include "daemon/host/process/nursery.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <map>
#include <utility>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "daemon/host/process/heirlooms.h"

namespace profd::host {

using base::Code;
using base::Status;
using base::UniqueFd;

namespace {

constexpr uint64_t kAgainNs = 1'000'000'000;
constexpr size_t kBoardPlaces = 512;  // a page
constexpr char kBoard[] = "board", kOrders[] = "orders";

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

struct Ends {
  UniqueFd own, other;
};
base::Result<Ends> MakeChannel() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0)
    return Status::FromErrno("make a socket for the processes that read memory");
  const timeval patience{1, 0};
  ::setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return Ends{UniqueFd(ends[0]), UniqueFd(ends[1])};
}

std::string Ended(pid_t pid, int how) {
  const std::string who = "profd-nursery (pid " + std::to_string(pid) + ") ";
  if (WIFSIGNALED(how)) return who + "was killed by signal " + std::to_string(WTERMSIG(how));
  return who + "has ended";
}

// This program anew, as a nursery with these files and no other.
base::Result<pid_t> Spawn(const std::map<std::string, int>& files) {
  int next = STDERR_FILENO;
  for (const auto& [name, fd] : files) next = std::max(next, fd);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  std::string told;
  for (const auto& [name, fd] : files) {  // under other numbers, and so they stay open
    ::posix_spawn_file_actions_adddup2(&actions, fd, ++next);
    told += (told.empty() ? "" : ",") + name + "=" + std::to_string(next);
  }
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    ::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  std::string name = "profd-nursery", flag = Nursery::kFlag;
  char* arguments[] = {name.data(), flag.data(), told.data(), nullptr};
  pid_t pid = 0;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes, arguments, environ);
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return Status::FromErrno("start profd-nursery anew (restart profd)", error);
  return pid;
}

}  // namespace

Nursery& Nursery::The() {
  static auto* nursery = new Nursery;
  return *nursery;
}

Status Nursery::ShareBoard() {
  using Place = std::atomic<uint64_t>;
  void* at = Heirlooms::Shared(kBoard, kBoardPlaces * sizeof(Place)).at;
  if (at == nullptr) return Status::FromErrno("share a page with the processes that read memory");
  board_ = {static_cast<Place*>(at), kBoardPlaces};
  return Status::Ok();
}

Status Nursery::Prepare() {
  std::call_once(once_, [this] {
    prepared_ = ShareBoard();
    const std::lock_guard lock(mutex_);
    if (prepared_.ok()) prepared_ = Fork();
  });
  return prepared_;
}

void Nursery::BeOne() {
  auto orders = Heirlooms::File(kOrders, [] {
    return Status(Code::kInvalidArgument, "a nursery without orders: only profd starts it");
  });
  if (!orders.ok() || !ShareBoard().ok()) ::_exit(1);
  base::ComeFirst();
  base::ComeAsUsual();
  RunNursery(std::move(orders).value());
}

Status Nursery::Fork() {
  PROFD_ASSIGN_OR_RETURN(Ends ends, MakeChannel());
  const pid_t pid = ::fork();
  if (pid == 0) {
    CloseSocketsBut(ends.other.get());
    base::ComeAsUsual();
    RunNursery(std::move(ends.other));
  }
  if (pid < 0) return Status::FromErrno("start a process that others are started from");
  channel_ = std::move(ends.own);
  pid_ = pid;
  return Status::Ok();
}

Status Nursery::Execute() {
  PROFD_ASSIGN_OR_RETURN(Ends ends, MakeChannel());
  std::map<std::string, int> files = Heirlooms::left();
  files[kOrders] = ends.other.get();
  PROFD_ASSIGN_OR_RETURN(pid_, Spawn(files));
  channel_ = std::move(ends.own);
  return Status::Ok();
}

bool Nursery::LivesLocked() const {
  pollfd peer{channel_.get(), 0, 0};
  return channel_ && (::poll(&peer, 1, 0) <= 0 || (peer.revents & (POLLHUP | POLLERR)) == 0);
}

bool Nursery::Lives() {
  const std::lock_guard lock(mutex_);
  return LivesLocked();
}

// Not waited for: it may have been in a call of the kernel's that takes its time.
void Nursery::Bury() {
  std::erase_if(unburied_, [this](pid_t pid) {
    int how = 0;
    if (::waitpid(pid, &how, WNOHANG) != pid) return false;
    news_.push_back(Ended(pid, how));
    return true;
  });
}

Status Nursery::ReviveLocked() {
  if (LivesLocked()) return Status::Ok();
  channel_.Reset();
  if (const pid_t dead = std::exchange(pid_, 0); dead != 0) {
    ::kill(dead, SIGKILL);  // it may have closed its channel only
    unburied_.push_back(dead);
  }
  const uint64_t now_ns = base::MonotonicNs();
  if (executed_ns_ != 0 && now_ns - executed_ns_ < kAgainNs) {
    return {Code::kUnavailable,
            "profd-nursery, which starts what reads memory, is killed again and again: profd starts it once "
            "in a second"};
  }
  executed_ns_ = now_ns;
  Status executed = Execute();
  Bury();
  news_.push_back(executed.ok() ? "profd-nursery is started anew (pid " + std::to_string(pid_) +
                                      "); what stand-ins were to say is missing"
                                : executed.message());
  return executed;
}

Status Nursery::Revive() {
  const std::lock_guard lock(mutex_);
  PROFD_RETURN_IF_ERROR(ReviveLocked());
  Bury();
  if (unburied_.empty()) return Status::Ok();
  return {Code::kUnavailable, "profd-nursery has been killed, and has not gone yet"};
}

Status Nursery::Send(const NurseryOrder& order, int passed) {
  const std::lock_guard lock(mutex_);
  PROFD_RETURN_IF_ERROR(ReviveLocked());
  if (order.Send(channel_.get(), passed)) return Status::Ok();
  if (!LivesLocked()) {  // it was killed just now
    PROFD_RETURN_IF_ERROR(ReviveLocked());
    if (order.Send(channel_.get(), passed)) return Status::Ok();
  }
  return Status::FromErrno("start a process that reads memory (profd-nursery does not take orders)");
}

void Nursery::SendEnd(uint64_t number) {
  const std::lock_guard lock(mutex_);
  if (channel_) NurseryOrder{.number = number}.Send(channel_.get(), -1);
}

UniqueFd Nursery::Watched() {
  const std::lock_guard lock(mutex_);
  return UniqueFd(::fcntl(channel_.get(), F_DUPFD_CLOEXEC, 0));
}

std::vector<std::string> Nursery::TakeNews() {
  const std::lock_guard lock(mutex_);
  Bury();
  return std::exchange(news_, {});
}

}  // namespace profd::host
