// Which profd, and how to get there.
#pragma once

#include <cstdint>
#include <string>

namespace profd::client {

struct Endpoint {
  std::string socket = {};                   // of this node's, unless:
  std::string host = {};                     // host:port of another's
  std::string ca = {}, cert = {}, key = {};  // PEM files for that: who signs theirs, and what we show
  uint64_t deadline_ns = 0;  // of every call, base::MonotonicNs(); 0 = each call's own patience
  bool plain = false;        // without any

  const std::string& name() const { return host.empty() ? socket : host; }
};

}  // namespace profd::client
