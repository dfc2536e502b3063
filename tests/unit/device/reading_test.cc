#include "daemon/device/reading.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "base/threads/thread.h"

namespace profd::device {
namespace {

// A call of the driver that does `inside` until it is let go.
class Call {
 public:
  explicit Call(std::function<void()> inside)
      : thread_([this, inside = std::move(inside)] {
          reading_.Begin({.id = {1, 2}}, 100);
          thread_id_ = ::gettid();
          while (!let_go_) inside();
          reading_.End(0);
        }) {
    while (thread_id_ == 0) std::this_thread::yield();
  }
  ~Call() {
    let_go_ = true;
    thread_.join();
  }
  Reading& reading() { return reading_; }
  uint64_t CpuNs() const { return base::StateOf(thread_id_).cpu_ns; }

 private:
  Reading reading_;
  std::atomic<pid_t> thread_id_{0};
  std::atomic<bool> let_go_{false};
  std::thread thread_;
};

TEST(Reading, WhoSleepsInTheDriverHangs) {
  Call call([] { std::this_thread::sleep_for(std::chrono::milliseconds(20)); });  // as a driver that waits
  EXPECT_FALSE(call.reading().GiveUp(100)) << "it is not late";
  while (!call.reading().GiveUp(101)) std::this_thread::yield();
}

TEST(Reading, WhoRunsIsLateAtFirstAndHangsWhenItHasSpun) {
  Call call([] {});
  const uint64_t before_ns = call.CpuNs();
  EXPECT_FALSE(call.reading().GiveUp(101));
  while (!call.reading().GiveUp(101))
    std::this_thread::sleep_for(std::chrono::milliseconds(1));  // between two looks
  EXPECT_GE(call.CpuNs() - before_ns, 50'000'000U);
}

}  // namespace
}  // namespace profd::device
