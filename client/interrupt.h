// Ctrl-C (SIGINT) and SIGTERM as calls instead of death.
#pragma once

#include <functional>
#include <thread>

#include "base/unique_fd.h"

namespace profd::client {

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
