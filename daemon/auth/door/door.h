// The door socket: recognises local processes by what the kernel says of them and hands out tickets
// (libagent/abi/door.h is the protocol).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/files/passed.h"
#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/auth/tickets.h"
#include "daemon/base/executor.h"

namespace profd::auth {

// Where an agent sits down: its number for `leave_seat`, and what its welcome brings, valid until then.
struct AgentSeat {
  uint64_t number = 0;  // never 0
  int memfd = -1;
  int wake_fd = -1;
};

// **Thread:** ctl; may be made before ctl runs and destroyed after it has stopped. **Owns:** the socket file,
// the connections and their tickets.
class Door {
 public:
  struct Options {
    // Of clients; agents count apart.
    size_t max_connections = 1024;
    size_t max_connections_per_uid = 64;
    // Who has not said yet which of the two it is may be either. How many agents there may be says
    // `take_seat`.
    size_t max_agents = 0;
    size_t max_agents_per_uid = 0;
    uint64_t hello_timeout_ns = 5'000'000'000;
    // Called on ctl. Without them agents are turned away. kResourceExhausted: ask again later.
    std::function<base::Result<AgentSeat>(const Caller&)> take_seat;
    std::function<void(uint64_t seat)> leave_seat;
    // What the next message on `socket` brings, as a process says that may be left behind with it: called on
    // ctl, answers there, later. Without it nobody may bring a directory. While `is_stuck` says so of a user
    // nothing more is taken from him.
    using Looked = std::function<void(const base::Result<base::Comes>&)>;
    std::function<void(uid_t, base::UniqueFd socket, Looked)> look;
    std::function<bool(uid_t)> is_stuck;
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
