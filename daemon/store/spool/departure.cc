#include "daemon/store/spool/departure.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "base/clock.h"
#include "format/mend/files.h"

namespace profd::store {

namespace {

using base::UniqueFd;

constexpr uint64_t kMsNs = 1'000'000;
constexpr int kMostDepth = 2;        // device_0/data/…
constexpr size_t kMostFiles = 4096;  // the kernel has few watches for each user

}  // namespace

Departure::Departure(int dir) : events_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  if (events_) Watch(dir, "/proc/self/fd/" + std::to_string(dir), 0);
}

void Departure::Watch(int dir, const std::string& path, int depth) {
  mend::Entries entries(dir);
  for (std::string name; left_ < kMostFiles && entries.Next(name);) {
    struct stat facts {};
    if (::fstatat(dir, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (S_ISREG(facts.st_mode) && facts.st_nlink == 1) {
      const int watch =
          ::inotify_add_watch(events_.get(), (path + "/" + name).c_str(), IN_DELETE_SELF | IN_DONT_FOLLOW);
      if (watch >= 0) ++left_;
    } else if (S_ISDIR(facts.st_mode) && depth < kMostDepth) {
      const UniqueFd below(::openat(dir, name.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (below) Watch(below.get(), "/proc/self/fd/" + std::to_string(below.get()), depth + 1);
    }
  }
}

bool Departure::Wait(uint64_t patience_ns) {
  const uint64_t until_ns = base::MonotonicNs() + patience_ns;
  while (left_ > 0) {
    alignas(inotify_event) char bytes[4096];
    const ssize_t got = ::read(events_.get(), bytes, sizeof bytes);
    for (ssize_t at = 0; at < got;) {
      inotify_event event{};
      std::memcpy(&event, bytes + at, sizeof event);
      if ((event.mask & IN_DELETE_SELF) != 0) --left_;
      if ((event.mask & IN_Q_OVERFLOW) != 0) left_ = 0;
      at += static_cast<ssize_t>(sizeof event + event.len);
    }
    if (got > 0) continue;
    const uint64_t now_ns = base::MonotonicNs();
    if (now_ns >= until_ns) return false;
    pollfd polled = {events_.get(), POLLIN, 0};
    ::poll(&polled, 1, static_cast<int>((until_ns - now_ns + kMsNs - 1) / kMsNs));
  }
  return true;
}

}  // namespace profd::store
