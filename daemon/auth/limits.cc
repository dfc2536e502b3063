#include "daemon/auth/limits.h"

#include <algorithm>
#include <string>

#include "base/clock.h"

namespace profd::auth {

using base::Code;
using base::Status;

namespace {

constexpr double kBurstSeconds = 4;
constexpr size_t kForgetAbove = 256;
constexpr uint64_t kMostFetches = 8;  // each has a thread; half of them for one caller

// A viewer's and an operator's uid is root's.
bool IsUnlimited(const Caller& caller) {
  return IsAdmin(caller) && (caller.role == Role::kAccount || caller.role == Role::kAdmin);
}
std::string NameOf(const Caller& caller) {
  return caller.role == Role::kAccount ? std::to_string(caller.uid) : caller.user;
}

}  // namespace

Limits::Share& Limits::ShareOf(const Caller& caller, uint64_t now_ns) {
  std::map<std::string, Share>& shares = shares_->of;
  if (shares.size() > kForgetAbove) {
    for (auto share = shares.begin(); share != shares.end();) {
      const bool quiet = share->second.watches == 0 && share->second.fetches == 0 &&
                         share->second.unread == 0 && share->second.requests.IsFull(now_ns);
      share = quiet ? shares.erase(share) : std::next(share);
    }
  }
  const auto per_s = static_cast<double>(limits_.requests_per_s);
  return shares
      .try_emplace(NameOf(caller), Share{.requests = base::TokenBucket(per_s, per_s * kBurstSeconds)})
      .first->second;
}

Status Limits::TakeRequest(const Caller& caller, double cost) {
  if (IsUnlimited(caller)) return Status::Ok();
  const uint64_t now_ns = base::MonotonicNs();
  const std::lock_guard lock(shares_->mutex);
  if (ShareOf(caller, now_ns).requests.Take(now_ns, cost)) return Status::Ok();
  return {Code::kResourceExhausted, "user " + caller.user + " asks for more than " +
                                        std::to_string(limits_.requests_per_s) +
                                        " requests a second (limits.requests_per_s): wait a moment"};
}

base::Result<Limits::Held> Limits::TakeWatch(const Caller& caller) {
  if (IsUnlimited(caller)) return Held();
  const std::lock_guard lock(shares_->mutex);
  Share& share = ShareOf(caller, base::MonotonicNs());
  if (share.watches >= limits_.watches_per_user) {
    return Status(Code::kResourceExhausted,
                  "user " + caller.user + " watches " + std::to_string(share.watches) +
                      " times already, the most a user may (limits.watches_per_user): end some of them");
  }
  ++share.watches;
  return Held(&share, [shares = shares_](Share* taken) {
    const std::lock_guard give_back(shares->mutex);
    --taken->watches;
  });
}

base::Result<Limits::Held> Limits::TakeFetch(const Caller& caller) {
  const std::lock_guard lock(shares_->mutex);
  Share& share = ShareOf(caller, base::MonotonicNs());
  if (shares_->fetches >= kMostFetches || (share.fetches >= kMostFetches / 2 && !IsUnlimited(caller))) {
    return Status(Code::kResourceExhausted,
                  std::to_string(shares_->fetches) + " sessions are being fetched, " +
                      std::to_string(share.fetches) + " by user " + caller.user + ": try again later");
  }
  ++share.fetches;
  ++shares_->fetches;
  return Held(&share, [shares = shares_](Share* taken) {
    const std::lock_guard give_back(shares->mutex);
    --taken->fetches;
    --shares->fetches;
  });
}

// Of all together a caller has at most half of what is left, so that nobody's unread answers are in
// everybody's way.
Status Limits::CheckAnswer(const Caller& caller) const {
  if (IsUnlimited(caller)) return Status::Ok();
  const std::lock_guard lock(shares_->mutex);
  const auto share = shares_->of.find(NameOf(caller));
  const uint64_t unread = share == shares_->of.end() ? 0 : share->second.unread;
  const uint64_t left = kMostUnreadOfAll - std::min(kMostUnreadOfAll, shares_->unread);
  if (left > 0 && (unread == 0 || unread < std::min(kMostUnread, left / 2))) return Status::Ok();
  return {Code::kResourceExhausted, "user " + caller.user + " has not read " + std::to_string(unread >> 20) +
                                        " MiB of answers: read the earlier answers first"};
}

Limits::Held Limits::KeepAnswer(const Caller& caller, uint64_t bytes) {
  if (IsUnlimited(caller)) return nullptr;
  const std::lock_guard lock(shares_->mutex);
  Share& share = ShareOf(caller, base::MonotonicNs());
  share.unread += bytes;
  shares_->unread += bytes;
  return Held(&share, [shares = shares_, bytes](Share* taken) {
    const std::lock_guard give_back(shares->mutex);
    taken->unread -= bytes;
    shares->unread -= bytes;
  });
}

}  // namespace profd::auth
