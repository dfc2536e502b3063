// The way to the control socket: so many connections of each user and no more. Who is behind one says its
// ticket.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/base/executor.h"

namespace profd::auth {

// **Thread:** ctl; may be made before ctl runs and destroyed after it has stopped. **Owns:** the socket file.
class Gate {
 public:
  struct Options {
    size_t max_connections = 1024;
    size_t max_connections_per_uid = 64;
    // Takes the connection over.
    std::function<void(base::UniqueFd)> pass;
  };

  // `path` is free: the SocketClaim saw to that.
  static base::Result<std::unique_ptr<Gate>> Start(const std::string& path, base::Executor& ctl,
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
