// Whose the connections over TCP are. gRPC has them, and who is behind one shows its first call: a name in
// certificates holds so many and no more, wherever it connects from.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.h"
#include "daemon/base/executor.h"

namespace profd::auth {

// Connections that nobody has claimed in time are closed: else whoever says nothing had no name to count for.
class Holders {
 public:
  struct Options {
    size_t most = 64;  // of one name
    uint64_t patience_ns = 15'000'000'000;
  };

  // May be made before ctl runs and destroyed after it has stopped.
  Holders(base::Executor& ctl, Options options);
  ~Holders();
  Holders(const Holders&) = delete;
  Holders& operator=(const Holders&) = delete;

  // A connection is there, whoever takes it over. **Thread:** ctl.
  void Add(int fd);

  // `peer`: what gRPC calls the connection. An `is_limited` holder that has enough already gets
  // kResourceExhausted, and the connection has still nobody. **Thread:** any.
  base::Status Claim(const std::string& peer, const std::string& holder, bool is_limited);

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace profd::auth
