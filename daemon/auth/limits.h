// How much of profd one caller may take at a time: a user, or a name in certificates. Admins are not limited.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
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
  // For one stream of values; each that was taken is given back.
  base::Status TakeWatch(const Caller& caller);
  void GiveBackWatch(const Caller& caller);

 private:
  struct Share {
    base::TokenBucket requests;
    uint64_t watches = 0;
  };
  Share& ShareOf(const std::string& name, uint64_t now_ns);

  const config::Config::Limits limits_;
  std::mutex mutex_;
  std::map<std::string, Share> shares_;
};

}  // namespace profd::auth
