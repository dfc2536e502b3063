// Finds out whether a disk is fast enough for a session before that matters.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <memory>

#include "daemon/base/aside.h"
#include "daemon/base/timers.h"
#include "daemon/session/life/session.h"

namespace profd::session {

// **Thread:** ctl only.
class DiskProbe {
 public:
  DiskProbe(base::Timers& timers, base::Aside& aside) : timers_(timers), aside_(aside) {}

  // Tells the session what its disk takes: a moment after it has begun, since no start waits for what the
  // probe writes; a file system is asked once in a while.
  void Ask(const std::shared_ptr<Session>& session);

 private:
  struct Disk {
    uint64_t until_ns = 0;
    double bytes_per_second = 0;  // 0 = not known yet
  };

  base::Timers& timers_;
  base::Aside& aside_;
  std::map<dev_t, Disk> disks_;
};

}  // namespace profd::session
