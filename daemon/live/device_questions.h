// Asks processes which devices they have open: a program opens them after it has registered.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>

#include "daemon/agent/peer.h"

namespace profd::live {

// **Thread:** ctl.
class DeviceQuestions {
 public:
  // Once in a while; the answer is in the peer's hello().
  void Ask(agent::Peer& peer);

 private:
  std::map<pid_t, uint64_t> asked_;  // when
};

}  // namespace profd::live
