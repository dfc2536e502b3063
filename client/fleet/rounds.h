// One conversation with each of thousands of nodes: the calls are made for all of them together, directly or
// by relays.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "client/fleet/fleet.h"
#include "client/node/asking.h"

namespace profd::client {

struct Way {
  std::vector<std::string> relays;  // nodes that ask the others; the hosts are dealt among them
  size_t parallel = 128;  // asked directly at once, besides those that have been silent for a second
};

// Waiting takes no node's turn, and no thread. A relay that fails, or has not answered when two thirds of the
// time are over, is said on stderr, and what it has not answered for is asked directly.
base::Result<std::vector<Answer>> AskInRounds(const Way& way, const Context& context,
                                              const std::vector<std::string>& hosts,
                                              const std::function<Asking<ExitCode>(const Context&)>& verb);

}  // namespace profd::client
