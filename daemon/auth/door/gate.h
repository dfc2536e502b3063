// The way in, by the control socket or by TCP: so many connections of each user, or of each address, and no
// more. Where it is full, whoever has most makes room for others. Who is behind one says its ticket or its
// certificate.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/host_port.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/auth/door/room.h"
#include "daemon/base/executor.h"

namespace profd::auth {

// **Thread:** ctl; may be made before ctl runs and destroyed after it has stopped. **Owns:** the socket file.
class Gate {
 public:
  struct Options {
    Room room;  // one: a user; an IPv4 address; an IPv6 network of 64 bits
    // Takes the connection over; `uid` of a local one.
    std::function<void(base::UniqueFd, uid_t uid)> pass;
    // Ends a connection of this user's that has nothing to do, if there is one. May be none.
    std::function<void(uid_t uid)> relieve;
  };

  // `path` is free: the SocketClaim saw to that.
  static base::Result<std::unique_ptr<Gate>> Start(const std::string& path, base::Executor& ctl,
                                                   Options options);
  static base::Result<std::unique_ptr<Gate>> StartTcp(const base::HostPort& on, base::Executor& ctl,
                                                      Options options);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

 private:
  class Impl;
  explicit Gate(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::auth
