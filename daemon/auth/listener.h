// A listening unix socket: accepts a few connections at a time, so that whoever keeps knocking leaves ctl
// time for others.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/base/executor.h"

namespace profd::auth {

// **Thread:** ctl; may be made before ctl runs and destroyed after it has stopped. **Owns:** the socket file.
class Listener {
 public:
  // `path` is free: the SocketClaim saw to that. `type` is SOCK_STREAM or SOCK_SEQPACKET. Connections are
  // nonblocking.
  static base::Result<std::unique_ptr<Listener>> Start(const std::string& path, int type, base::Executor& ctl,
                                                       std::function<void(base::UniqueFd)> arrived);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  class Impl;
  explicit Listener(std::shared_ptr<Impl> impl);

  std::shared_ptr<Impl> impl_;
};

}  // namespace profd::auth
