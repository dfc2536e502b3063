#include "libagent/src/socket_watch.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libagent/abi/door.h"
#include "libagent/src/process.h"

namespace profd::agent {

namespace {

constexpr uint32_t kAppears = IN_CREATE | IN_MOVED_TO;

const char* LastName(const char* path) { return strrchr(path, '/') + 1; }

// `name` or `name`.door
bool IsSocketName(const char* name, const char* base) {
  const size_t bytes = strlen(base);
  return strncmp(name, base, bytes) == 0 &&
         (name[bytes] == '\0' || strcmp(name + bytes, abi::kDoorSuffix) == 0);
}

}  // namespace

bool SocketWatch::Start(const char* socket) {
  socket_ = socket;
  base_ = LastName(socket);
  const auto bytes = static_cast<size_t>(base_ - socket);  // with the slash
  if (bytes >= sizeof(folder_)) return false;
  memcpy(folder_, socket, bytes);
  folder_[bytes > 1 ? bytes - 1 : 1] = '\0';
  return (Open() && WatchFolder()) || BeBlind();
}

bool SocketWatch::StartAgain() {
  // The parent first, so that the folder can't come back unseen.
  return (Open() && (WatchFolder() || (WatchParent() && (WatchFolder() || on_parent_)))) || BeBlind();
}

bool SocketWatch::BeBlind() {
  blind_ = errno == EMFILE || errno == ENFILE || errno == ENOSPC || errno == ENOMEM;
  Stop();
  return blind_;
}

SocketWatch::Door SocketWatch::DoorNow() const {
  char path[sizeof(folder_) + sizeof(abi::kDoorSuffix)];
  const size_t bytes = strlen(socket_);
  if (bytes + sizeof(abi::kDoorSuffix) > sizeof(path)) return {};
  memcpy(path, socket_, bytes);
  memcpy(path + bytes, abi::kDoorSuffix, sizeof(abi::kDoorSuffix));
  struct statx facts {};
  if (::statx(AT_FDCWD, path, 0, STATX_INO | STATX_CTIME, &facts) != 0) return {};
  return {facts.stx_ino, facts.stx_ctime.tv_sec, facts.stx_ctime.tv_nsec};
}

void SocketWatch::Look() {
  if (blind_) seen_ = DoorNow();
}

bool SocketWatch::Open() {
  blind_ = false;
  Own(kInotifyFd).Take(::inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  return Own(kInotifyFd).get() >= 0;
}

void SocketWatch::Stop() { Own(kInotifyFd).Close(); }

bool SocketWatch::WatchFolder() {
  const int watch = ::inotify_add_watch(Own(kInotifyFd).get(), folder_,
                                        kAppears | IN_DELETE_SELF | IN_MOVE_SELF | IN_ONLYDIR);
  if (watch < 0) return false;
  watch_ = watch;
  on_parent_ = false;
  return true;
}

bool SocketWatch::WatchParent() {
  char* slash = strrchr(folder_, '/');
  if (slash == folder_) return false;
  *slash = '\0';
  const int watch = ::inotify_add_watch(Own(kInotifyFd).get(), folder_, kAppears | IN_ONLYDIR);
  *slash = '/';
  if (watch < 0) return false;
  watch_ = watch;
  on_parent_ = true;
  return true;
}

bool SocketWatch::SocketAppeared() {
  if (blind_) {
    const Door now = DoorNow();
    return now.inode != 0 && now != seen_;
  }
  alignas(inotify_event) char events[4096];
  bool appeared = false;
  for (;;) {
    const ssize_t got = ::read(Own(kInotifyFd).get(), events, sizeof(events));
    if (got <= 0) return appeared;
    for (const char* at = events; at < events + got;) {
      const auto* event = reinterpret_cast<const inotify_event*>(at);
      at += sizeof(inotify_event) + event->len;
      if (event->wd != watch_) continue;
      const char* name = event->len > 0 ? event->name : "";
      if (on_parent_) {
        if (strcmp(name, LastName(folder_)) != 0 || !WatchFolder()) continue;
        appeared = true;  // the sockets may have come before the watch
      } else if ((event->mask & (IN_DELETE_SELF | IN_MOVE_SELF)) != 0) {
        // It may be back already.
        if (WatchParent() && WatchFolder()) appeared = true;
      } else {
        appeared = appeared || IsSocketName(name, base_);
      }
    }
  }
}

}  // namespace profd::agent
