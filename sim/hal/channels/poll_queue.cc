#include "sim/hal/channels/poll_queue.h"

#include <cmath>
#include <ctime>

namespace profd::sim {

PollQueue::PollQueue() { ::sem_init(&tokens_, /*pshared=*/0, /*value=*/0); }
PollQueue::~PollQueue() { ::sem_destroy(&tokens_); }

void PollQueue::Push(PollInfo entry) {
  {
    const std::lock_guard lock(mutex_);
    entry_[tail_] = entry;
    tail_ = (tail_ + 1) % kDepth;
  }
  Wake();
}

bool PollQueue::WaitFor(double seconds) {
  constexpr int64_t kNsPerSecond = 1'000'000'000;
  timespec until{};
  ::clock_gettime(CLOCK_REALTIME, &until);
  const int64_t ns = until.tv_nsec + std::llround(seconds * 1e9);
  until.tv_sec += ns / kNsPerSecond;
  until.tv_nsec = ns % kNsPerSecond;
  return ::sem_timedwait(&tokens_, &until) == 0;
}

int PollQueue::Take(PollInfo* out, int most) {
  const std::lock_guard lock(mutex_);
  int taken = 0;
  for (; taken < most && head_ != tail_; head_ = (head_ + 1) % kDepth) out[taken++] = entry_[head_];
  return taken;
}

}  // namespace profd::sim
