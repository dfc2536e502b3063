// The calls of one verb to one node when somebody else makes them: the verb is put aside at a call and goes
// on with its answer.
#pragma once

#include <coroutine>
#include <cstdint>
#include <optional>
#include <string>

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
  std::optional<Call> call;         // the newest
  std::coroutine_handle<> waiting;  // goes on when it is answered
  uint64_t pause_ns = 0;            // before the call

  bool IsWaiting() const { return call && !call->is_answered; }
};

}  // namespace profd::client
