// Bounded queue between exactly one producer thread and one consumer thread; lock-free, never allocates after
// construction. Capacity is rounded up to a power of two.
#pragma once

#include <atomic>
#include <bit>
#include <cstddef>
#include <memory>
#include <utility>

namespace profd::base {

template <typename T>
class SpscQueue {
 public:
  explicit SpscQueue(size_t capacity)
      : mask_(std::bit_ceil(capacity < 2 ? size_t{2} : capacity) - 1), slots_(new T[mask_ + 1]) {}
  SpscQueue(const SpscQueue&) = delete;
  SpscQueue& operator=(const SpscQueue&) = delete;

  size_t capacity() const { return mask_ + 1; }

  // Producer. False when full; `value` is then untouched.
  bool TryPush(T&& value) {
    const size_t head = head_.load(std::memory_order_relaxed);
    if (head - cached_tail_ > mask_) {
      cached_tail_ = tail_.load(std::memory_order_acquire);
      if (head - cached_tail_ > mask_) return false;
    }
    slots_[head & mask_] = std::move(value);
    head_.store(head + 1, std::memory_order_release);
    return true;
  }

  // Consumer. False when empty.
  bool TryPop(T& out) {
    const size_t tail = tail_.load(std::memory_order_relaxed);
    if (tail == cached_head_) {
      cached_head_ = head_.load(std::memory_order_acquire);
      if (tail == cached_head_) return false;
    }
    out = std::move(slots_[tail & mask_]);
    tail_.store(tail + 1, std::memory_order_release);
    return true;
  }

  // Any thread; a snapshot.
  size_t SizeApprox() const {
    return head_.load(std::memory_order_acquire) - tail_.load(std::memory_order_acquire);
  }

 private:
  const size_t mask_;
  std::unique_ptr<T[]> slots_;
  // Producer and consumer state on lines of their own (64 bytes on x86-64, up to 128 on Arm servers).
  alignas(128) std::atomic<size_t> head_{0};
  size_t cached_tail_ = 0;
  alignas(128) std::atomic<size_t> tail_{0};
  size_t cached_head_ = 0;
};

}  // namespace profd::base
