// The audit log: who asked for what, on what, and whether it was allowed; a line of JSON each.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "daemon/base/token_bucket.h"

namespace profd::auth {

// One user cannot push what others did out of the log: after a burst of lines each has so many a second, what
// is beyond is counted and said. Nothing that comes from outside can end a line or look like another.
// **Thread:** any.
class Audit {
 public:
  // Takes one line, without its end; does not block. Without it nothing is noted.
  using Write = std::function<void(const std::string& line)>;
  explicit Audit(Write write = nullptr) : write_(std::move(write)) {}

  // `what` is a verb ("start"), `on` says on what. A caller that is not known has uid -1.
  void Note(const Caller& caller, std::string_view what, std::string_view on, const base::Status& outcome);

 private:
  struct Share {
    base::TokenBucket lines;
    uint64_t omitted = 0;
  };
  void TellOmittedLocked(uint64_t now_ns);

  const Write write_;
  std::mutex mutex_;
  std::map<uid_t, Share> shares_;
};

}  // namespace profd::auth
