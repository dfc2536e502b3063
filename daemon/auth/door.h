// The door socket: recognises local processes by what the kernel says of them and hands out tickets
// (libagent/abi/door.h is the protocol).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "daemon/auth/tickets.h"
#include "daemon/base/executor.h"

namespace profd::auth {

// **Thread:** ctl; may be made before ctl runs and destroyed after it has stopped. **Owns:** the socket file,
// the connections and their tickets.
class Door {
 public:
  struct Options {
    size_t max_connections = 1024;
    size_t max_connections_per_uid = 64;
    uint64_t hello_timeout_ns = 5'000'000'000;
  };

  // `path` is free: the SocketClaim saw to that.
  static base::Result<std::unique_ptr<Door>> Start(const std::string& path, base::Executor& ctl,
                                                   Tickets& tickets, Options options);
  static base::Result<std::unique_ptr<Door>> Start(const std::string& path, base::Executor& ctl,
                                                   Tickets& tickets) {
    return Start(path, ctl, tickets, Options());
  }
  ~Door();
  Door(const Door&) = delete;
  Door& operator=(const Door&) = delete;

  size_t connections() const;

 private:
  class Impl;
  explicit Door(std::shared_ptr<Impl> impl);

  std::shared_ptr<Impl> impl_;
};

}  // namespace profd::auth
