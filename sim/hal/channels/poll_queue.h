// What prof_channel_poll waits on, with the driver's own awkwardness: one token per entry, several entries
// per poll.
#pragma once

#include <semaphore.h>

#include <array>
#include <cstdint>
#include <mutex>

#include "sim/abi.h"

namespace profd::sim {

// **Thread:** any.
class PollQueue {
 public:
  PollQueue();
  PollQueue(const PollQueue&) = delete;
  PollQueue& operator=(const PollQueue&) = delete;
  ~PollQueue();

  void Push(PollInfo entry);
  void Wake() { ::sem_post(&tokens_); }  // a token without an entry

  // false: no token came until then (CLOCK_REALTIME, as in the driver), or a signal did.
  bool WaitFor(double seconds);
  // Up to `most` entries, for whatever number of tokens.
  int Take(PollInfo* out, int most);

 private:
  static constexpr size_t kDepth = 512;  // unchecked: one entry too many and the queue looks empty

  sem_t tokens_;
  std::mutex mutex_;
  std::array<PollInfo, kDepth> entry_;
  size_t head_ = 0, tail_ = 0;
};

}  // namespace profd::sim
