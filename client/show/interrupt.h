// Ctrl-C (SIGINT) and SIGTERM as calls instead of death.
#pragma once

#include <csignal>
#include <functional>
#include <thread>

#include "base/unique_fd.h"

namespace profd::client {

// Keeps both for the InterruptWatch that comes: call it before the first thread exists where that is earlier
// than the watch. Returns what was blocked before, which a program that is started wants.
sigset_t HoldInterrupts();

// **Thread:** construct it before any other thread exists: they inherit the blocked signals. `on_interrupt`
// runs on a thread of its own with 1, 2, … **Owns:** that thread; joined on destruction.
class InterruptWatch {
 public:
  explicit InterruptWatch(std::function<void(int)> on_interrupt);
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

 private:
  base::UniqueFd signals_;
  base::UniqueFd end_;
  std::thread thread_;
};

}  // namespace profd::client
