#include "libagent/src/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include <atomic>

#include "base/clock.h"
#include "libagent/src/door.h"
#include "libagent/src/mspti/library.h"
#include "libagent/src/mspti/source.h"
#include "libagent/src/process.h"
#include "libagent/src/recorder.h"
#include "libagent/src/socket_watch.h"
#include "libagent/src/tables/thread.h"

namespace profd::agent {

namespace {

constexpr char kDefaultSocket[] = "/run/profd/profd.sock";
// A socket is there a moment before somebody answers on it.
constexpr int kTries = 20;
constexpr int kRetryMs = 100;
constexpr int kBusyMs = 10'000;
constexpr int kForEver = -1;
constexpr int kBlindMs = 1000;
constexpr int kResourceExhausted = 8;  // gRPC: no room for us now
constexpr uint64_t kSettledNs = 5'000'000'000;
constexpr size_t kStackBytes = 256U << 10;
constexpr int kGraceMs = 1000;  // of a child that may be gone in a moment

std::atomic<bool> g_started;
std::atomic<bool> g_follows;

// Written before the thread starts: the absolute path of the socket, how long to rest first.
char g_socket[108];
int g_grace_ms;

// Of a program with more rights than who started it (setuid, capabilities of its file) only the usual one:
// whoever answers gets its records, and may write into its memory.
bool ReadAddress() {
  const char* address = ::secure_getenv("PROFD_ADDRESS");
  if (address == nullptr || *address == '\0') address = kDefaultSocket;
  constexpr char kScheme[] = "unix:";
  if (strncmp(address, kScheme, sizeof(kScheme) - 1) == 0) address += sizeof(kScheme) - 1;
  const size_t bytes = strlen(address);
  // The door's name must fit into a socket address too. A relative path would mean something else after a
  // chdir.
  if (address[0] != '/' || bytes + sizeof(abi::kDoorSuffix) > sizeof(g_socket)) return false;
  memcpy(g_socket, address, bytes + 1);
  return true;
}

void SleepMs(int ms) {
  const timespec pause{ms / 1000, (ms % 1000) * 1'000'000L};
  ::nanosleep(&pause, nullptr);
}

bool Reads(short events) { return (events & (POLLIN | POLLHUP | POLLERR)) != 0; }

void DrainEventFd(int fd) {
  uint64_t count;
  while (::read(fd, &count, sizeof(count)) > 0) {
  }
}

enum class Next : uint8_t { kServe, kWaitForSocket, kRetrySoon, kRetryLater };

// Knocks, maps the region, connects. Leaves nothing behind unless it returns kServe.
Next Attach(Welcome* welcome) {
  char door_path[sizeof(g_socket) + sizeof(abi::kDoorSuffix)];
  const size_t bytes = strlen(g_socket);
  memcpy(door_path, g_socket, bytes);
  memcpy(door_path + bytes, abi::kDoorSuffix, sizeof(abi::kDoorSuffix));
  switch (KnockAt(door_path, welcome)) {
    case Knock::kNobody:
      return ::access(door_path, F_OK) == 0 ? Next::kRetrySoon : Next::kWaitForSocket;
    case Knock::kTurnedAway:
      return Next::kWaitForSocket;
    case Knock::kBusy:
      return Next::kRetryLater;
    case Knock::kWelcome:
      break;
  }
  const AttachError error = AttachRegion(welcome->memfd, welcome->wake);
  ::close(welcome->memfd);
  const int stream = error == AttachError::kOk ? ConnectStream(g_socket) : -1;
  if (stream >= 0) {
    ::fcntl(stream, F_SETFL, ::fcntl(stream, F_GETFL) | O_NONBLOCK);
    Own(kDoorFd).Take(welcome->door);
    Own(kStreamFd).Take(stream);
    return Next::kServe;
  }
  ::close(welcome->door);
  if (error != AttachError::kOk) {
    ::close(welcome->wake);
    return Next::kWaitForSocket;
  }
  DetachRegion();
  return Next::kRetrySoon;
}

// Until profd goes or sends us away. Returns its verdict as a gRPC status code, -1 for none.
int Serve(const Welcome& welcome) {
  Recorder recorder;
  const int fd = Own(kStreamFd).get();
  if (!recorder.Register(fd, welcome.ticket)) return -1;
  while (recorder.Advance()) {
    pollfd polled[] = {{fd, static_cast<short>(POLLIN | (recorder.wants_write() ? POLLOUT : 0)), 0},
                       {Own(kDoorFd).get(), POLLIN, 0},  // profd says nothing more there: it hangs up
                       {Own(kAttachWakeFd).get(), POLLIN, 0}};
    if (::poll(polled, 3, recorder.TimeoutMs()) < 0 && errno != EINTR) break;
    for (const pollfd& one : polled) {
      if ((one.revents & POLLNVAL) != 0) return -1;  // the program has closed our descriptors
    }
    if (Reads(polled[1].revents)) break;
    if (Reads(polled[2].revents)) DrainEventFd(polled[2].fd);
  }
  return recorder.verdict();
}

void Abandon() {
  Own(kStreamFd).Close();
  DetachRegion();
  Own(kDoorFd).Close();
}

// Returns when it is time to knock again. False: never.
bool AwaitSocket(SocketWatch& watch, int timeout_ms) {
  for (;;) {
    pollfd polled[] = {{Own(kInotifyFd).get(), POLLIN, 0}, {Own(kAttachWakeFd).get(), POLLIN, 0}};
    const bool must_ask = watch.is_blind() && timeout_ms == kForEver;
    const int ready = ::poll(polled, 2, must_ask ? kBlindMs : timeout_ms);
    if (ready < 0 && errno != EINTR) return false;
    if (((polled[0].revents | polled[1].revents) & POLLNVAL) != 0) return false;
    if (ready == 0 && (!must_ask || watch.SocketAppeared())) return true;
    if (Reads(polled[1].revents)) DrainEventFd(polled[1].fd);
    if (Reads(polled[0].revents) && watch.SocketAppeared()) return true;
  }
}

void Attend() {
  // The watch stands before the first knock, so a socket that appears in between is not missed. While
  // attached there is none: nothing that happens in the folder wakes us.
  SocketWatch watch;
  if (!watch.Start(g_socket)) return;
  for (int tries = kTries;;) {
    watch.Look();
    Welcome welcome;
    Next next = Attach(&welcome);
    if (next == Next::kServe) {
      watch.Stop();
      const uint64_t since = base::RawNs();
      next = Serve(welcome) == kResourceExhausted ? Next::kRetryLater : Next::kRetrySoon;
      Abandon();
      if (!watch.StartAgain()) return;
      // One that sends us away at once is not asked for ever.
      if (base::RawNs() - since > kSettledNs) tries = kTries;
    }
    if (next == Next::kRetrySoon && --tries > 0) {
      SleepMs(kRetryMs);
      continue;
    }
    if (!AwaitSocket(watch, next == Next::kRetryLater ? kBusyMs : kForEver)) return;
    tries = kTries;
  }
}

// A short-lived child of a shell is gone before this is over. A first call of the API cuts it short, and so
// does CANN, whose calls would be missed.
void Rest() {
  constexpr int kLookMs = 10;
  pollfd called = {Own(kAttachWakeFd).get(), POLLIN, 0};
  const uint64_t end_ns = base::RawNs() + static_cast<uint64_t>(g_grace_ms) * 1'000'000;
  while (base::RawNs() < end_ns && !mspti::IsCannLoaded()) {
    if (::poll(&called, 1, kLookMs) != 0) return;
  }
}

// What makes no call of ours would never be recorded. One whose parent had CANN has nothing to load.
void StartInChild() {
  const int before = errno;
  if (g_follows.load() && !mspti::IsCannInherited() && PrepareProcess()) StartAttachThread(kGraceMs);
  errno = before;
}

void* Run(void*) {
  ::prctl(PR_SET_NAME, "profd-agent");
  // Not earlier: an allocator of the program's registers with its first allocation, before this thread, and
  // has to be usable in the child when the thread there is made.
  static std::atomic<bool> registered;
  if (!registered.exchange(true)) ::pthread_atfork(nullptr, nullptr, StartInChild);
  Rest();
  Attend();
  for (const OwnFdName name : {kInotifyFd, kStreamFd, kDoorFd}) Own(name).Close();
  return nullptr;
}

}  // namespace

void StartAttachThread(int grace_ms) {
  if (g_started.exchange(true)) return WakeAttachThread();
  if (!ReadAddress()) return;
  Own(kAttachWakeFd).Take(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  g_grace_ms = grace_ms;
  mspti::WatchExit();
  StartQuietThread(Run, kStackBytes);
}

void FollowChildren(bool follow) { g_follows.store(follow); }

void ResetAttachAfterFork() { g_started.store(false); }

// A linked or imported agent does nothing here; a preloaded one has no first call to wait for. Whoever starts
// a program to have it recorded names itself: that program, and none of its children, is not rested.
__attribute__((constructor)) static void Preloaded() {
  const char* preload = ::getenv("LD_PRELOAD");
  if (preload == nullptr || strstr(preload, "libprofd_agent.so") == nullptr || !PrepareProcess()) return;
  const char* launcher = ::getenv("PROFD_AGENT_LAUNCHER");
  const bool is_wanted = launcher != nullptr && strtol(launcher, nullptr, 10) == ::getppid();
  FollowChildren(is_wanted);  // until it is told what is recorded
  StartAttachThread(is_wanted ? 0 : kGraceMs);
}

}  // namespace profd::agent
