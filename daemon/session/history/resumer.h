// Sessions across a restart of profd: remembers those that asked for it, and begins them again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/agent/registry.h"
#include "daemon/base/aside.h"
#include "daemon/base/timers.h"
#include "daemon/session/history/resume.h"

namespace profd::session {

// **Thread:** ctl only.
class Resumer {
 public:
  Resumer(base::Timers& timers, base::Aside& aside, agent::Registry& agents, std::string spool);
  ~Resumer();

  void Remember(const ResumeRecord& record);
  void Forget(const std::string& session);

  // Calls `begin` for every session that can go on, once its processes have come back (or 3 s have passed);
  // its pids are those that still live. The rest is forgotten.
  void Resume(std::function<void(ResumeRecord)> begin);

 private:
  void Consider(ResumeRecord record);
  void Wait(ResumeRecord record, int tries);

  base::Timers& timers_;
  base::Aside& aside_;
  agent::Registry& agents_;
  const std::string spool_;
  std::function<void(ResumeRecord)> begin_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace profd::session
