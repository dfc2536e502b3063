// One Control.Live stream: the newest values, as fast as the reader takes them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "daemon/base/executor.h"
#include "daemon/live/live.h"
#include "daemon/rpc/calls/stream_call.h"
#include "profd/v1/metrics.pb.h"

namespace profd::rpc {

// **Thread:** OnSnapshot() on ctl, the rest anywhere.
class LiveCall : public NewestCall<v1::LiveValues> {
 public:
  LiveCall(live::Live& live, base::Executor& ctl, std::shared_ptr<OpenCalls> open)
      : NewestCall(std::move(open)), live_(live), ctl_(ctl) {}

  void Begin(const auth::Caller& caller, const v1::LiveRequest& request);

 private:
  void OfferHistory();
  void OnSnapshot(const live::SnapshotPtr& snapshot);
  // Whether a set of that moment is due.
  bool IsDue(uint64_t wall_ns, uint64_t beat_ns);
  void Over() override;

  live::Live& live_;
  base::Executor& ctl_;
  std::vector<std::string> kinds_;
  uint64_t period_ns_ = 0, since_ns_ = 0;
  // ctl's.
  live::Live::WatchId watch_ = 0;
  bool watching_ = false;
  uint64_t sent_wall_ns_ = 0;
};

}  // namespace profd::rpc
