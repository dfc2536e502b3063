// Many nodes asked directly, without a thread for each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/exchange.h"
#include "node/peer.h"

namespace profd::client {

struct Question {
  std::shared_ptr<node::Peer> peer;
  Exchange::Call* call;  // gets the answer
};

// `parallel` at once, besides those that have been silent for a second: they hold up nobody. Ends with the
// last answer, at `deadline_ns` at the latest.
void AskDirectly(const std::vector<Question>& questions, size_t parallel, uint64_t deadline_ns);

}  // namespace profd::client
