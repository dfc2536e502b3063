#include "base/threads/wake_up.h"

#include <poll.h>
#include <sys/eventfd.h>

#include <ctime>

#include "base/clock.h"
#include "base/status.h"

namespace profd::base {

WakeUp::WakeUp() : fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) { PROFD_CHECK(fd_); }

void WakeUp::Ring() {
  // Pairs with Prepare(): either the sleeper sees our work, or we see that it sleeps.
  if (!asleep_.exchange(false, std::memory_order_acq_rel)) return;
  const uint64_t one = 1;
  // A full counter means the bell rings already.
  [[maybe_unused]] const ssize_t written = ::write(fd_.get(), &one, sizeof one);
}

bool WakeUp::Wait(uint64_t deadline_ns) {
  timespec timeout{};
  timespec* limit = nullptr;
  if (deadline_ns != UINT64_MAX) {
    const uint64_t now = MonotonicNs();
    const uint64_t left = deadline_ns > now ? deadline_ns - now : 0;
    timeout.tv_sec = static_cast<time_t>(left / 1'000'000'000U);
    timeout.tv_nsec = static_cast<long>(left % 1'000'000'000U);
    limit = &timeout;
  }
  pollfd waiter{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  const int ready = ::ppoll(&waiter, 1, limit, nullptr);
  Cancel();
  if (ready <= 0) return false;
  uint64_t count = 0;
  [[maybe_unused]] const ssize_t got = ::read(fd_.get(), &count, sizeof count);
  return true;
}

}  // namespace profd::base
