// The lock of the slow paths.
#pragma once

#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>

namespace profd::agent {

inline int32_t ThreadId() { return static_cast<int32_t>(::syscall(SYS_gettid)); }

// A lock that a signal handler may try while its own thread holds it, that zeroed memory represents as free,
// and that gives up rather than wait for ever. **Thread:** any.
class Latch {
 public:
  // False when this thread holds it already, or after a second of waiting (its holder was cancelled or
  // killed).
  [[nodiscard]] bool TryLock() {
    const int32_t self = ThreadId();
    for (int attempt = 0; attempt < kAttempts; ++attempt) {
      int32_t holder = 0;
      if (holder_.compare_exchange_strong(holder, self, std::memory_order_acquire)) return true;
      if (holder == self) return false;
      if (attempt < kYields) {
        ::sched_yield();
      } else {
        const timespec pause{0, kPauseNs};
        ::nanosleep(&pause, nullptr);
      }
    }
    return false;
  }
  // False when anybody holds it.
  [[nodiscard]] bool TryLockNow() {
    int32_t holder = 0;
    return holder_.compare_exchange_strong(holder, ThreadId(), std::memory_order_acquire);
  }
  void Unlock() { holder_.store(0, std::memory_order_release); }
  // For a forked child, where no other thread is left to hold it.
  void Reset() { holder_.store(0, std::memory_order_relaxed); }

 private:
  static constexpr int kYields = 200;
  static constexpr long kPauseNs = 200'000;
  static constexpr int kAttempts = kYields + 1'000'000'000 / kPauseNs;

  std::atomic<int32_t> holder_;
};

// Holds a latch for a scope, if it can be had.
class Latched {
 public:
  enum class Patience : uint8_t { kNone, kSecond };
  explicit Latched(Latch& latch, Patience patience = Patience::kSecond)
      : latch_(latch), held_(patience == Patience::kNone ? latch.TryLockNow() : latch.TryLock()) {}
  ~Latched() {
    if (held_) latch_.Unlock();
  }
  Latched(const Latched&) = delete;
  Latched& operator=(const Latched&) = delete;
  explicit operator bool() const { return held_; }

 private:
  Latch& latch_;
  bool held_;
};

}  // namespace profd::agent
