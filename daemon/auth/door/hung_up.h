// Whether the other end of a connection is still there.
#pragma once

#include <poll.h>

namespace profd::auth {

// It has closed both directions, or the connection is broken: whatever it has said, nobody waits for an
// answer.
inline bool HasHungUp(int fd) {
  pollfd asked{.fd = fd, .events = 0, .revents = 0};
  return ::poll(&asked, 1, 0) == 1 && (asked.revents & (POLLHUP | POLLERR)) != 0;
}

}  // namespace profd::auth
