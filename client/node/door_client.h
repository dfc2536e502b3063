// profctl's side of the door (libagent/abi/door.h).
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"
#include "base/unique_fd.h"

namespace profd::client {

// **Owns:** the connection that keeps the ticket valid.
class DoorClient {
 public:
  // `output_dir` (-1 = none) is passed along. `deadline_ns` is base::MonotonicNs(), 0 = the door's own
  // patience.
  static base::Result<DoorClient> Knock(const std::string& socket, int output_dir, uint64_t deadline_ns = 0);

  const std::string& ticket() const { return ticket_; }
  const std::string& profd_version() const { return profd_version_; }

 private:
  base::UniqueFd connection_;
  std::string ticket_;
  std::string profd_version_;
};

}  // namespace profd::client
