#include "daemon/rpc/control/watch_call.h"

#include <algorithm>

#include "base/clock.h"
#include "daemon/rpc/calls/convert.h"

namespace profd::rpc {

using base::Code;

namespace {

constexpr uint64_t kCheckNs = 100'000'000;  // how soon a watcher hears of a new state
constexpr uint32_t kDefaultPeriodMs = 1000;

}  // namespace

void WatchCall::Begin(const auth::Caller& /*caller*/, const v1::WatchRequest& request) {
  session_ = request.session();
  period_ns_ = uint64_t{request.period_ms() == 0 ? kDefaultPeriodMs : request.period_ms()} * 1'000'000;
  period_ns_ = std::max(period_ns_, kCheckNs);
  ctl_.Post([self = Self<WatchCall>()] { self->CheckRegularly(); });
}

void WatchCall::Abort() {
  Check();
  if (!ends()) NewestCall::Abort();
}

void WatchCall::CheckRegularly() {
  Check();
  if (ends()) return;
  ctl_.After(kCheckNs, [self = Self<WatchCall>()] { self->CheckRegularly(); });
}

void WatchCall::Check() {
  if (ends()) return;
  const base::Result<auth::Caller> caller = Caller();
  if (!caller.ok()) return FinishOnce(caller.status());
  const base::Result<session::SessionInfo> info = manager_.Get(*caller, session_);
  const auto is_there = [this] {  // to somebody who sees all of them
    return manager_.Get({.uid = 0, .role = auth::Role::kViewer}, session_).ok();
  };
  if (!info.ok() && sent_any_ && info.status().code() == Code::kNotFound && is_there()) {
    return FinishOnce({Code::kPermissionDenied, "user " + caller->user + " may no longer see session " +
                                                    session_ + ": ask its owner or root"});
  }
  if (!info.ok()) return FinishOnce(info.status());
  session_ = info->id;  // a newer one of that name is another
  const uint64_t now_ns = base::MonotonicNs();
  if (sent_any_ && info->state == sent_state_ && now_ns - sent_ns_ < period_ns_) return;
  sent_any_ = true;
  sent_state_ = info->state;
  sent_ns_ = now_ns;
  Offer([now = *info](v1::SessionInfo* message) { Encode(now, message); },
        info->state == session::State::kSealed || info->state == session::State::kFailed);
}

}  // namespace profd::rpc
