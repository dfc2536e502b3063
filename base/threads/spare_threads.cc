#include "base/threads/spare_threads.h"

#include <chrono>
#include <csignal>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace profd::base {

namespace {

constexpr std::chrono::milliseconds kTryAgainAfter{20};

// None when the kernel makes none; `body` is still there then. Otherwise it is the thread's alone: what it
// holds must not be given back by who starts it.
std::optional<std::thread> MakeThread(std::function<void()>& body) {
  const auto held = std::make_shared<std::function<void()>>(std::move(body));
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::optional<std::thread> thread;
  try {
    thread.emplace([held] {
      const std::function<void()> run = std::move(*held);
      run();
    });
  } catch (const std::system_error&) {
    body = std::move(*held);
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

}  // namespace

SpareThreads::~SpareThreads() {
  for (Spare& spare : spares_) {
    spare.body.set_value([] {});
    spare.thread.join();
  }
}

bool SpareThreads::Fill(size_t count) {
  const std::lock_guard lock(mutex_);
  count_ = count;
  return FillLocked();
}

bool SpareThreads::Fill() {
  const std::lock_guard lock(mutex_);
  return FillLocked();
}

bool SpareThreads::FillLocked() {
  while (spares_.size() < count_) {
    std::promise<std::function<void()>> body;
    const auto given = std::make_shared<std::future<std::function<void()>>>(body.get_future());
    std::function<void()> wait = [given] { given->get()(); };
    std::optional<std::thread> thread = MakeThread(wait);
    if (!thread) return false;
    spares_.push_back({std::move(body), std::move(*thread)});
  }
  return true;
}

std::thread SpareThreads::Start(std::function<void()> body) {
  for (;;) {
    if (std::optional<std::thread> thread = MakeThread(body)) return std::move(*thread);
    {
      const std::lock_guard lock(mutex_);
      if (!spares_.empty()) {
        Spare spare = std::move(spares_.back());
        spares_.pop_back();
        spare.body.set_value(std::move(body));
        return std::move(spare.thread);
      }
    }
    std::this_thread::sleep_for(kTryAgainAfter);
  }
}

}  // namespace profd::base
