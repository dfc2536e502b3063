#include "daemon/host/events/thread_events.h"

#include <gtest/gtest.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <array>
#include <thread>

#include "base/clock.h"
#include "daemon/host/events/perf_ring.h"
#include "daemon/host/process/process.h"

namespace profd::host {
namespace {

constexpr uint64_t kPatienceNs = 30'000'000'000;

perf_event_attr Clock() {
  perf_event_attr attr{};
  attr.size = sizeof attr;
  attr.type = PERF_TYPE_SOFTWARE;
  attr.config = PERF_COUNT_SW_TASK_CLOCK;
  attr.disabled = 1;
  attr.use_clockid = 1;  // as the rings have it
  attr.clockid = CLOCK_MONOTONIC_RAW;
  return attr;
}

// A program whose first thread ends while another goes on: /proc shows it, but it has no events any more. So
// does, for a moment, any thread that ends.
TEST(ThreadEvents, AThreadThatHasEndedIsPassedOver) {
  if (!OpenPerfEvent(Clock(), 0, -1).ok()) GTEST_SKIP() << "perf events cannot be had here";
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::thread([] { ::pause(); }).detach();
    ::syscall(SYS_exit, 0);
  }
  const uint64_t end_ns = base::MonotonicNs() + kPatienceNs;
  while (StateOf(child) != 'Z' && base::MonotonicNs() < end_ns) std::this_thread::yield();
  EXPECT_EQ(StateOf(child), 'Z');
  EXPECT_EQ(OpenPerfEvent(Clock(), child, -1).status().code(), base::Code::kNotFound);
  const std::array attrs = {Clock()};
  const auto events = ThreadEvents::Open(std::array{child}, attrs, Clock(), 64 << 10);
  EXPECT_TRUE(events.ok()) << events.status().message();
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace profd::host
