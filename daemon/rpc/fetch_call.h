// One Fetch call: a thread that reads, and a stream that takes one piece at a time.
#pragma once

#include <grpcpp/server_context.h>
#include <grpcpp/support/server_callback.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>

#include "daemon/base/executor.h"
#include "daemon/rpc/open_calls.h"
#include "daemon/session/manager.h"
#include "daemon/store/trace_reader.h"
#include "profd/v1/control.pb.h"

namespace profd::rpc {

// **Thread:** any. **Owns:** itself until gRPC says OnDone() and its thread has ended.
class FetchCall : public grpc::ServerWriteReactor<v1::FetchPiece>,
                  public OpenCall,
                  public std::enable_shared_from_this<FetchCall> {
 public:
  FetchCall(session::Manager& manager, base::Executor& ctl, std::shared_ptr<OpenCalls> open)
      : manager_(manager), ctl_(ctl), open_(std::move(open)) {}

  void Begin(auth::Caller caller, const v1::FetchRequest& request);
  void Refuse(const base::Status& status);
  void Abort() override;

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void Read(const session::StoredTrace& trace);
  // Waits for the piece before; false when nobody listens any more.
  bool Put(const store::TracePiece& piece);
  void FinishOnce(const base::Status& status);

  session::Manager& manager_;
  base::Executor& ctl_;
  const std::shared_ptr<OpenCalls> open_;
  std::shared_ptr<FetchCall> self_;
  v1::FetchRequest request_;

  std::mutex mutex_;  // all below
  std::condition_variable written_;
  bool writing_ = false;
  bool finished_ = false;
  v1::FetchPiece piece_;  // gRPC's while it writes
};

}  // namespace profd::rpc
