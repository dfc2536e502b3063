#include "daemon/rpc/fetch_call.h"

#include <atomic>
#include <utility>

#include "base/thread.h"
#include "daemon/rpc/call_status.h"

namespace profd::rpc {

using base::Code;
using base::Status;

namespace {

constexpr int kMostThreads = 8;
std::atomic<int> threads{0};

}  // namespace

void FetchCall::Begin(auth::Caller caller, const v1::FetchRequest& request) {
  self_ = shared_from_this();
  request_ = request;
  open_->Add(self_);
  ctl_.Post([self = self_, caller = std::move(caller)] {
    const base::Result<session::StoredTrace> trace =
        self->manager_.Locate(caller, self->request_.session(), self->request_.directory());
    if (!trace.ok()) return self->FinishOnce(trace.status());
    if (threads.fetch_add(1) >= kMostThreads) {
      --threads;
      return self->FinishOnce({Code::kResourceExhausted, std::to_string(kMostThreads) +
                                                             " sessions are being fetched: try again later"});
    }
    base::StartThread("fetch", [self, trace = *trace] {
      self->Read(trace);
      --threads;
    }).detach();
  });
}

void FetchCall::Read(const session::StoredTrace& trace) {
  Status status =
      store::ReadTrace(trace.spool, trace.user, trace.name, request_.from_path(), request_.from_offset(),
                       [this](const store::TracePiece& piece) { return Put(piece); });
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return !writing_ || finished_; });
  lock.unlock();
  FinishOnce(status);
}

bool FetchCall::Put(const store::TracePiece& piece) {
  std::unique_lock lock(mutex_);
  written_.wait(lock, [this] { return !writing_ || finished_; });
  if (finished_) return false;
  piece_.set_path(piece.path);
  piece_.set_offset(piece.offset);
  piece_.set_data(piece.data.data(), piece.data.size());
  piece_.set_end_of_file(piece.end_of_file);
  piece_.set_crc32c(piece.crc32c);
  writing_ = true;
  StartWrite(&piece_);
  return true;
}

void FetchCall::Refuse(const Status& status) {
  self_ = shared_from_this();
  FinishOnce(status);
}

void FetchCall::Abort() { FinishOnce(Stopping()); }

void FetchCall::OnWriteDone(bool ok) {
  {
    const std::lock_guard lock(mutex_);
    writing_ = false;
    written_.notify_one();
  }
  if (!ok) FinishOnce({Code::kCancelled, "the reader is gone"});
}

void FetchCall::OnCancel() { FinishOnce({Code::kCancelled, "the reader is gone"}); }

void FetchCall::OnDone() {
  open_->Remove(this);
  self_.reset();
}

void FetchCall::FinishOnce(const Status& status) {
  const std::lock_guard lock(mutex_);
  if (std::exchange(finished_, true)) return;
  written_.notify_one();
  Finish(ToGrpc(status));
}

}  // namespace profd::rpc
