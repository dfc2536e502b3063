// Calls that wait for ctl. gRPC's shutdown waits for every one of them, and ctl may have stopped by then:
// here they can be answered without it.
#pragma once

#include <memory>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace profd::rpc {

class OpenCall {
 public:
  virtual ~OpenCall() = default;
  // Answers now, if nothing did before. Not while ctl runs on another thread.
  virtual void Abort() = 0;
};

// **Thread:** any.
class OpenCalls {
 public:
  // After AbortAll() the call is aborted at once.
  void Add(const std::shared_ptr<OpenCall>& call) {
    {
      const std::lock_guard lock(mutex_);
      if (!closed_) {
        calls_.emplace(call.get(), call);
        return;
      }
    }
    call->Abort();
  }
  void Remove(const OpenCall* call) {
    const std::lock_guard lock(mutex_);
    calls_.erase(call);
  }
  // How many were open.
  size_t AbortAll() {
    std::vector<std::shared_ptr<OpenCall>> open;
    {
      const std::lock_guard lock(mutex_);
      closed_ = true;
      for (const auto& [pointer, call] : calls_) open.push_back(call.lock());
    }
    for (const auto& call : open) {
      if (call != nullptr) call->Abort();
    }
    return open.size();
  }

 private:
  std::mutex mutex_;
  bool closed_ = false;
  std::unordered_map<const OpenCall*, std::weak_ptr<OpenCall>> calls_;
};

}  // namespace profd::rpc
