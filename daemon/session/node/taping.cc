#include "daemon/session/node/taping.h"

#include <algorithm>
#include <utility>

namespace profd::session {

using base::Code;
using base::Result;
using base::Status;

Taping::~Taping() { End(); }

Result<Taped> Taping::Do(const auth::Caller& caller, const TapeOrder& order,
                         const std::shared_ptr<driver::Driver>& driver) {
  PROFD_RETURN_IF_ERROR(auth::May(caller, auth::Action::kTapeDriver));
  if (order.what == TapeOrder::What::kBegin) {
    PROFD_RETURN_IF_ERROR(Begin(caller, order, driver));
    return Taped{};
  }
  if (tape_ == nullptr || uid_ != caller.uid) {
    return Status(Code::kFailedPrecondition,
                  "user " + caller.user +
                      " has begun no tape of the driver's calls, or has not taken it for " +
                      std::to_string(kForgetNs / 1'000'000'000) + " s: begin again");
  }
  // What is called from now on is not wanted any more; what has been is still taken.
  if (order.what == TapeOrder::What::kEnd && driver_ != nullptr) {
    driver_->SetTape(nullptr);
    driver_ = nullptr;
  }
  Taped taped{tape_->Take(kPieceBytes), tape_->left_out()};
  if (order.what == TapeOrder::What::kEnd && taped.calls.empty()) {
    End();
  } else {
    WaitForTheListener();
  }
  return taped;
}

Status Taping::Begin(const auth::Caller& caller, const TapeOrder& order,
                     const std::shared_ptr<driver::Driver>& driver) {
  if (driver == nullptr)
    return {Code::kFailedPrecondition, "this profd has no driver library: profctl doctor says why"};
  if (tape_ != nullptr) {
    return {Code::kAborted,
            "user " + user_ + " is taping the driver's calls: one at a time, try again later"};
  }
  if (order.devices.empty() || order.devices.size() > driver::kMaxDevices) {
    return {Code::kInvalidArgument, "a tape of the driver's calls is of 1 to " +
                                        std::to_string(driver::kMaxDevices) + " devices, not of " +
                                        std::to_string(order.devices.size())};
  }
  const uint64_t most = order.most_bytes == 0 ? kMostBytes : std::min(order.most_bytes, kMostBytes);
  tape_ = std::make_shared<driver::Tape>(order.devices, most);
  uid_ = caller.uid;
  user_ = caller.user;
  driver_ = driver;
  driver_->SetTape(tape_);
  WaitForTheListener();
  return {};
}

void Taping::End() {
  if (alarm_ != 0) timers_.Cancel(std::exchange(alarm_, 0));
  if (driver_ != nullptr) driver_->SetTape(nullptr);
  driver_ = nullptr;
  tape_ = nullptr;
}

void Taping::WaitForTheListener() {
  if (alarm_ != 0) timers_.Cancel(alarm_);
  alarm_ = timers_.After(kForgetNs, [this] {
    alarm_ = 0;
    End();
  });
}

}  // namespace profd::session
