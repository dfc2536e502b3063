// Many nodes asked directly, without a thread for each.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "client/node/exchange.h"
#include "remote/peer.h"

namespace profd::client {

struct Question {
  std::shared_ptr<remote::Peer> peer;
  Exchange::Call* call;  // gets the answer; stays where it is until then
};

// Nodes that have been silent for a second hold up nobody: neither who comes behind them, nor what others
// that have answered are asked next. **Thread:** one. Every question has its answer before this ends.
class Direct {
 public:
  // `parallel` at once, besides the silent ones; none takes longer than until `deadline_ns`.
  Direct(size_t parallel, uint64_t deadline_ns) : parallel_(parallel), deadline_ns_(deadline_ns) {}
  Direct(const Direct&) = delete;
  Direct& operator=(const Direct&) = delete;

  // Waits for a turn.
  void Ask(const Question& question);
  // Until all are answered, or some are and the others are silent: answers stand in their calls.
  void Await();

 private:
  void AwaitTurn();

  const size_t parallel_;
  const uint64_t deadline_ns_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::multiset<uint64_t> begun_;                                   // calls under way, by when they began
  std::vector<std::pair<Exchange::Call*, remote::Reply>> answers_;  // that nobody has been told of
};

}  // namespace profd::client
