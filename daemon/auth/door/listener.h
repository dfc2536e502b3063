// Listening sockets, a unix one or those of a TCP address. A thread takes what knocks out of the kernel's
// queue, which has one end for all users; ctl lets them in by turns, one of each user's, so that whoever
// keeps knocking leaves it time for others. Of somebody who has very many waiting the next are closed.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/host_port.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/base/executor.h"

namespace profd::auth {

// **Thread:** ctl; may be made before ctl runs and destroyed after it has stopped. **Owns:** the socket file,
// a thread "knocks".
class Listener {
 public:
  using Arrived = std::function<void(base::UniqueFd)>;

  // `path` is free: the SocketClaim saw to that. `type` is SOCK_STREAM or SOCK_SEQPACKET. Connections are
  // nonblocking.
  static base::Result<std::unique_ptr<Listener>> Start(const std::string& path, int type, base::Executor& ctl,
                                                       Arrived arrived);
  // On every address that the host has; port 0 is any. May block to resolve a name.
  static base::Result<std::unique_ptr<Listener>> StartTcp(const base::HostPort& on, base::Executor& ctl,
                                                          Arrived arrived);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Of TCP: that of the first address.
  uint16_t port() const;

 private:
  class Impl;
  explicit Listener(std::shared_ptr<Impl> impl);

  std::shared_ptr<Impl> impl_;
};

}  // namespace profd::auth
