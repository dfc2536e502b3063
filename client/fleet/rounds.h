// One verb on thousands of nodes: the calls it makes are made for all of them together, directly or by
// relays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "client/fleet/fleet.h"

namespace profd::client {

struct Way {
  std::vector<std::string> relays;  // nodes that ask the others; the hosts are dealt among them
  size_t parallel = 128;    // asked directly at once, besides those that have been silent for a second
  uint64_t at_wall_ns = 0;  // of the verb: everybody must have been asked well before
};

// As AskAll(), for verbs without streams, and waiting takes no node's turn. A relay that fails, or has not
// answered when two thirds of the time are over, is said on stderr, and what it has not answered for is asked
// directly.
base::Result<std::vector<Answer>> AskInRounds(const Way& way, const Common& common,
                                              const std::vector<std::string>& hosts,
                                              const std::function<ExitCode(const Common&)>& verb);

}  // namespace profd::client
