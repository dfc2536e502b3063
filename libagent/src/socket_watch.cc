#include "libagent/src/socket_watch.h"

#include <string.h>
#include <sys/inotify.h>
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
  base_ = LastName(socket);
  const auto bytes = static_cast<size_t>(base_ - socket);  // with the slash
  if (bytes >= sizeof(folder_)) return false;
  memcpy(folder_, socket, bytes);
  folder_[bytes > 1 ? bytes - 1 : 1] = '\0';
  return Open() && WatchFolder();
}

bool SocketWatch::StartAgain() {
  // The parent first, so that the folder can't come back unseen.
  return Open() && (WatchFolder() || (WatchParent() && (WatchFolder() || on_parent_)));
}

bool SocketWatch::Open() {
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
