// What the streams of Control have in common.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <utility>

#include "base/status.h"
#include "daemon/auth/limits.h"
#include "daemon/rpc/calls/call_status.h"
#include "daemon/rpc/calls/identity.h"
#include "daemon/rpc/calls/open_calls.h"

namespace profd::rpc {

// Finished once, by whoever comes first: the call itself, its reader, profd's end.
// **Thread:** any. **Owns:** itself until gRPC says OnDone(), what was taken of the limits.
template <typename Message>
class StreamCall : public grpc::ServerWriteReactor<Message>,
                   public OpenCall,
                   public std::enable_shared_from_this<StreamCall<Message>> {
 public:
  explicit StreamCall(std::shared_ptr<OpenCalls> open) : open_(std::move(open)) {}

  // Before anything else; `renew` says what the caller may by then.
  void Open(auth::Limits::Held held, Identity::Renew renew) {
    self_ = this->shared_from_this();
    held_ = std::move(held);
    renew_ = std::move(renew);
    open_->Add(self_);
  }
  // Instead.
  void Refuse(const base::Status& status) {
    self_ = this->shared_from_this();
    FinishOnce(status);
  }

  void Abort() override { FinishOnce(Stopping()); }
  void OnWriteDone(bool ok) final {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    if (!ok) FinishLocked({base::Code::kCancelled, "the reader is gone"});
    WrittenLocked();
  }
  void OnCancel() final { FinishOnce({base::Code::kCancelled, "the reader is gone"}); }
  void OnDone() final {
    open_->Remove(this);
    Over();
    self_.reset();
  }

 protected:
  template <typename Call>
  std::shared_ptr<Call> Self() {
    return std::static_pointer_cast<Call>(this->shared_from_this());
  }
  // The caller with the rights of this moment. **Thread:** ctl.
  base::Result<auth::Caller> Caller() const { return renew_(); }

  // With mutex_ held.
  bool finished() const { return finished_; }
  bool writing() const { return writing_; }
  void WriteLocked(const Message* message) {
    writing_ = true;
    this->StartWrite(message);
  }
  void FinishLocked(const base::Status& status) {
    if (std::exchange(finished_, true)) return;
    this->Finish(ToGrpc(status));
    FinishedLocked();
  }
  void FinishOnce(const base::Status& status) {
    const std::lock_guard lock(mutex_);
    FinishLocked(status);
  }

  std::mutex mutex_;

 private:
  // A message is out, or nobody takes it any more.
  virtual void WrittenLocked() = 0;
  virtual void FinishedLocked() {}
  // gRPC has let go.
  virtual void Over() {}

  const std::shared_ptr<OpenCalls> open_;
  std::shared_ptr<StreamCall> self_;
  auth::Limits::Held held_;
  Identity::Renew renew_;
  bool finished_ = false;  // under mutex_, as the next
  bool writing_ = false;
};

// A stream of values. While one is being written the next one waits, and a newer one replaces it. What was
// offered to be first is not replaced.
template <typename Message>
class NewestCall : public StreamCall<Message> {
 public:
  using StreamCall<Message>::StreamCall;

 protected:
  // Each in its turn, before all that Offer() brings; one that says false is left out.
  void OfferFirst(std::deque<std::function<bool(Message*)>> encode) {
    const std::lock_guard lock(this->mutex_);
    if (this->finished()) return;
    first_ = std::move(encode);
    if (!this->writing()) WriteNextLocked();
  }
  // `last`: with it the stream ends.
  void Offer(std::function<void(Message*)> encode, bool last = false) {
    const std::lock_guard lock(this->mutex_);
    if (this->finished() || last_) return;
    next_ = std::move(encode);
    last_ = last;
    if (!this->writing()) WriteNextLocked();
  }
  bool ends() {
    const std::lock_guard lock(this->mutex_);
    return this->finished() || last_;
  }

 private:
  void WrittenLocked() final {
    if (this->finished()) return;
    WriteNextLocked();
    if (!this->writing() && last_) this->FinishLocked(base::Status::Ok());
  }
  void WriteNextLocked() {
    current_.Clear();
    while (!first_.empty()) {
      const auto encode = std::move(first_.front());
      first_.pop_front();
      if (encode(&current_)) return this->WriteLocked(&current_);
    }
    if (next_ == nullptr) return;
    std::exchange(next_, nullptr)(&current_);
    this->WriteLocked(&current_);
  }

  std::deque<std::function<bool(Message*)>> first_;  // under mutex_, as all below
  std::function<void(Message*)> next_;
  bool last_ = false;
  Message current_;  // gRPC's while it writes
};

}  // namespace profd::rpc
