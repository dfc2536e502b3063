// One Control.Watch stream: a session's newest state until its end.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "daemon/base/executor.h"
#include "daemon/rpc/calls/stream_call.h"
#include "daemon/session/manager.h"
#include "profd/v1/control.pb.h"

namespace profd::rpc {

// **Thread:** Check() on ctl, the rest anywhere.
class WatchCall : public NewestCall<v1::SessionInfo> {
 public:
  WatchCall(session::Manager& manager, base::Executor& ctl, std::shared_ptr<OpenCalls> open)
      : NewestCall(std::move(open)), manager_(manager), ctl_(ctl) {}

  void Begin(const auth::Caller& caller, const v1::WatchRequest& request);
  void Abort() override;

 private:
  void CheckRegularly();
  void Check();

  session::Manager& manager_;
  base::Executor& ctl_;
  std::string session_;
  uint64_t period_ns_ = 0;
  // ctl's.
  bool sent_any_ = false;
  session::State sent_state_ = session::State::kPending;
  uint64_t sent_ns_ = 0;
};

}  // namespace profd::rpc
