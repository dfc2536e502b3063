// The exclusive right to a socket path and the door beside it.
#pragma once

#include <sys/types.h>

#include <string>
#include <utility>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::auth {

// **Thread:** any. **Owns:** the lock on <socket>.lock, held until destruction; the lock file stays (removing
// it races).
class SocketClaim {
 public:
  // Creates the socket's folder if only that is missing, refuses a path another profd holds, removes sockets
  // that a dead one left.
  static base::Result<SocketClaim> Take(const std::string& socket);

 private:
  explicit SocketClaim(base::UniqueFd lock) : lock_(std::move(lock)) {}

  base::UniqueFd lock_;
};

// Mode 0666 for the sockets bound while it lives, whatever the umask: identity is the ticket's business, not
// the file mode's. The umask belongs to the whole process, so only while starting up.
class SocketUmask {
 public:
  SocketUmask();
  ~SocketUmask();
  SocketUmask(const SocketUmask&) = delete;
  SocketUmask& operator=(const SocketUmask&) = delete;

 private:
  mode_t before_;
};

}  // namespace profd::auth
