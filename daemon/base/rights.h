// The rights that a root profd keeps. docs/operations.md says what each is for.
#pragma once

#include "base/status.h"

namespace profd::base {

// Takes from the calling thread, and from those it starts later, every capability that profd does not use,
// the way back to them, and system calls that it never makes. Of rights it does not have nothing is said: a
// profd of an ordinary user gives up none.
Status GiveUpRights();

// Where the kernel opens perf events for CAP_SYS_ADMIN only, a profd that had it keeps it, without effect but
// for the calling thread while one of these lives. Elsewhere nothing happens.
class PerfRights {
 public:
  PerfRights();
  PerfRights(const PerfRights&) = delete;
  PerfRights& operator=(const PerfRights&) = delete;
  ~PerfRights();  // leaves errno alone

  static bool are_special();  // asked after GiveUpRights
};

}  // namespace profd::base
