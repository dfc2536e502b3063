// Threads that wait for something to do. The kernel may make no more of them at any moment: at a limit of the
// service's (TasksMax) or of the node's, which every user can reach. What goes on then has these.
#pragma once

#include <cstddef>
#include <functional>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace profd::base {

// **Thread:** any. The threads are in the namespaces of those that fill it.
class SpareThreads {
 public:
  SpareThreads() = default;
  ~SpareThreads();
  SpareThreads(const SpareThreads&) = delete;
  SpareThreads& operator=(const SpareThreads&) = delete;

  // As many as there should be from now on; false: the kernel does not make them all.
  bool Fill(size_t count);
  // The same, as many as before.
  bool Fill();
  // A new thread, or else a spare one, or else waits until there is one.
  std::thread Start(std::function<void()> body);

 private:
  struct Spare {
    std::promise<std::function<void()>> body;
    std::thread thread;
  };
  bool FillLocked();

  std::mutex mutex_;
  size_t count_ = 0;
  std::vector<Spare> spares_;
};

}  // namespace profd::base
