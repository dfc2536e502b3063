// The calls of one verb to one node when somebody else makes them: the verb runs over the answers that are
// there, and ends at the first call that has none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace profd::client {

struct Exchange {
  struct Call {
    std::string method;  // of Control
    std::string request = {};
    bool is_answered = false;
    uint32_t code = 0;  // gRPC's
    std::string message = {};
    bool from_node = false;  // the words are the node's own
    std::string reply = {};
  };
  std::vector<Call> calls;
  size_t next = 0;        // of `calls`; 0 before the verb runs
  uint64_t pause_ns = 0;  // before the call that has no answer yet

  bool IsWaiting() const { return !calls.empty() && !calls.back().is_answered; }
};

}  // namespace profd::client
