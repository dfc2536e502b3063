#include "daemon/auth/limits.h"

#include <string>

#include "base/clock.h"

namespace profd::auth {

using base::Code;
using base::Status;

namespace {

constexpr double kBurstSeconds = 4;
constexpr size_t kForgetAbove = 256;

// A viewer's and an operator's uid is root's.
bool IsUnlimited(const Caller& caller) {
  return IsAdmin(caller) && (caller.role == Role::kAccount || caller.role == Role::kAdmin);
}
std::string NameOf(const Caller& caller) {
  return caller.role == Role::kAccount ? std::to_string(caller.uid) : caller.user;
}

}  // namespace

Limits::Share& Limits::ShareOf(const std::string& name, uint64_t now_ns) {
  if (shares_.size() > kForgetAbove) {
    for (auto share = shares_.begin(); share != shares_.end();) {
      const bool quiet = share->second.watches == 0 && share->second.requests.IsFull(now_ns);
      share = quiet ? shares_.erase(share) : std::next(share);
    }
  }
  const auto per_s = static_cast<double>(limits_.requests_per_s);
  return shares_.try_emplace(name, Share{.requests = base::TokenBucket(per_s, per_s * kBurstSeconds)})
      .first->second;
}

Status Limits::TakeRequest(const Caller& caller, double cost) {
  if (IsUnlimited(caller)) return Status::Ok();
  const uint64_t now_ns = base::MonotonicNs();
  const std::lock_guard lock(mutex_);
  if (ShareOf(NameOf(caller), now_ns).requests.Take(now_ns, cost)) return Status::Ok();
  return {Code::kResourceExhausted, "user " + caller.user + " asks for more than " +
                                        std::to_string(limits_.requests_per_s) +
                                        " requests a second (limits.requests_per_s): wait a moment"};
}

Status Limits::TakeWatch(const Caller& caller) {
  if (IsUnlimited(caller)) return Status::Ok();
  const std::lock_guard lock(mutex_);
  Share& share = ShareOf(NameOf(caller), base::MonotonicNs());
  if (share.watches >= limits_.watches_per_user) {
    return {Code::kResourceExhausted, "user " + caller.user + " watches " + std::to_string(share.watches) +
                                          " times already, the most a user may (limits.watches_per_user): "
                                          "end some of them"};
  }
  ++share.watches;
  return Status::Ok();
}

void Limits::GiveBackWatch(const Caller& caller) {
  if (IsUnlimited(caller)) return;
  const std::lock_guard lock(mutex_);
  const auto share = shares_.find(NameOf(caller));
  if (share != shares_.end() && share->second.watches > 0) --share->second.watches;
}

}  // namespace profd::auth
