// How much of profd one caller may take at a time: a user, or a name in certificates. Admins are not limited.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "daemon/base/token_bucket.h"
#include "daemon/config/config.h"

namespace profd::auth {

// **Thread:** any.
class Limits {
 public:
  explicit Limits(const config::Config::Limits& limits) : limits_(limits) {}

  // For one request; `cost` of a light one is 1. kResourceExhausted with what to do.
  base::Status TakeRequest(const Caller& caller, double cost);
  // One stream of values, or one session that is read for its caller: what was taken is given back when the
  // last copy goes, which may be after this.
  using Held = std::shared_ptr<void>;
  base::Result<Held> TakeWatch(const Caller& caller);
  base::Result<Held> TakeFetch(const Caller& caller);
  // Before an answer is made: whether there is room for it beside those that the caller has not read yet.
  base::Status CheckAnswer(const Caller& caller) const;
  // It takes so many bytes until it is read.
  Held KeepAnswer(const Caller& caller, uint64_t bytes);

  static constexpr uint64_t kMostUnread = 64 << 20;  // of a caller, and one answer more
  static constexpr uint64_t kMostUnreadOfAll = 256 << 20;

 private:
  struct Share {
    base::TokenBucket requests;
    uint64_t watches = 0;
    uint64_t fetches = 0;
    uint64_t unread = 0;  // bytes of answers
  };
  struct Shares {
    std::mutex mutex;
    std::map<std::string, Share> of;  // under mutex, as all below
    uint64_t fetches = 0;
    uint64_t unread = 0;
  };
  Share& ShareOf(const Caller& caller, uint64_t now_ns);

  const config::Config::Limits limits_;
  const std::shared_ptr<Shares> shares_ = std::make_shared<Shares>();
};

}  // namespace profd::auth
