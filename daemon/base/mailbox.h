// What others ask of a thread that has work of its own, in the order they ask. Its bell is not part of this:
// a thread sleeps on one for all that may wake it.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

namespace profd::base {

template <typename Command>
class Mailbox {
 public:
  // Any thread, which rings the bell afterwards.
  void Send(Command command) {
    const std::lock_guard lock(mutex_);
    commands_.push_back(std::move(command));
    size_.store(commands_.size(), std::memory_order_release);
  }
  // How many wait. Any thread; does not lock, so that a thread can ask before every sleep.
  size_t size() const { return size_.load(std::memory_order_acquire); }
  // The next one. **Thread:** the one that is asked.
  std::optional<Command> Take() {
    if (size() == 0) return std::nullopt;
    const std::lock_guard lock(mutex_);
    std::optional<Command> next(std::move(commands_.front()));
    commands_.pop_front();
    size_.store(commands_.size(), std::memory_order_release);
    return next;
  }

 private:
  std::mutex mutex_;
  std::deque<Command> commands_;  // by mutex_
  std::atomic<size_t> size_{0};   // of commands_
};

}  // namespace profd::base
