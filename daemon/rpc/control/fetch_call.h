// One Fetch call: a thread that reads, and a stream that takes one piece at a time.
#pragma once

#include <condition_variable>
#include <memory>

#include "daemon/base/executor.h"
#include "daemon/rpc/calls/stream_call.h"
#include "daemon/session/manager.h"
#include "daemon/store/trace_reader.h"
#include "profd/v1/control.pb.h"

namespace profd::rpc {

// **Thread:** any. **Owns:** itself until its thread has ended, too.
class FetchCall : public StreamCall<v1::FetchPiece> {
 public:
  FetchCall(session::Manager& manager, base::Executor& ctl, auth::Limits& limits,
            std::shared_ptr<OpenCalls> open)
      : StreamCall(std::move(open)), manager_(manager), ctl_(ctl), limits_(limits) {}

  void Begin(const auth::Caller& caller, const v1::FetchRequest& request);

 private:
  void Read(const session::StoredTrace& trace);
  // Waits for the piece before; false when nobody listens any more.
  bool Put(const store::TracePiece& piece);
  void WrittenLocked() override { written_.notify_one(); }
  void FinishedLocked() override { written_.notify_one(); }

  session::Manager& manager_;
  base::Executor& ctl_;
  auth::Limits& limits_;
  v1::FetchRequest request_;
  std::condition_variable written_;
  v1::FetchPiece piece_;  // under mutex_; gRPC's while it writes
};

}  // namespace profd::rpc
