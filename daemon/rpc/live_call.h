// One Control.Live stream: the newest values, as fast as the reader takes them.
#pragma once

#include <grpcpp/support/server_callback.h>

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "daemon/base/executor.h"
#include "daemon/live/live.h"
#include "daemon/rpc/open_calls.h"
#include "profd/v1/metrics.pb.h"

namespace profd::rpc {

// While a value is being written the next one waits, and a newer one replaces it.
// **Thread:** OnSnapshot() on ctl, the rest anywhere. **Owns:** itself until gRPC says OnDone().
class LiveCall : public grpc::ServerWriteReactor<v1::LiveValues>,
                 public OpenCall,
                 public std::enable_shared_from_this<LiveCall> {
 public:
  LiveCall(live::Live& live, base::Executor& ctl, std::shared_ptr<OpenCalls> open)
      : live_(live), ctl_(ctl), open_(std::move(open)) {}

  void Begin(auth::Caller caller, const v1::LiveRequest& request);
  void Refuse(const base::Status& status);

  void Abort() override;
  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  void OnSnapshot(const live::SnapshotPtr& snapshot);
  void EncodeNext();
  void WriteLocked();
  void FinishLocked(const base::Status& status);

  live::Live& live_;
  base::Executor& ctl_;
  const std::shared_ptr<OpenCalls> open_;
  std::shared_ptr<LiveCall> self_;
  auth::Caller caller_;
  std::vector<std::string> kinds_;
  uint64_t period_ns_ = 0;
  live::Live::WatchId watch_ = 0;  // ctl's
  bool watching_ = false;          // ctl's
  uint64_t sent_ns_ = 0;           // ctl's

  std::mutex mutex_;  // all below
  bool finished_ = false;
  bool writing_ = false;
  live::SnapshotPtr next_;
  v1::LiveValues current_;
};

}  // namespace profd::rpc
