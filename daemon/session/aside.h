// File-system work that may block for as long as a stuck mount likes: on a short-lived thread of its own,
// answered on ctl, forgotten when profd stops first.
#pragma once

#include <functional>
#include <memory>
#include <mutex>

#include "base/thread.h"
#include "daemon/base/executor.h"

namespace profd::session {

// **Thread:** ctl only.
class Aside {
 public:
  explicit Aside(base::Executor& ctl) : box_(std::make_shared<Box>()) { box_->ctl = &ctl; }
  ~Aside() {
    const std::lock_guard lock(box_->mutex);
    box_->ctl = nullptr;
  }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;

  // `work` runs aside and must own what it touches; what it returns runs on ctl.
  void Run(std::function<std::function<void()>()> work) {
    base::StartThread("arm", [box = box_, work = std::move(work)] {
      auto done = work();
      const std::lock_guard lock(box->mutex);
      if (box->ctl != nullptr) box->ctl->Post(std::move(done));
    }).detach();
  }

 private:
  struct Box {
    std::mutex mutex;
    base::Executor* ctl = nullptr;
  };
  std::shared_ptr<Box> box_;
};

}  // namespace profd::session
