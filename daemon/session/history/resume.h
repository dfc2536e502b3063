// A session that is to go on after a restart of profd (--resume): what must be remembered of it, as JSON.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "daemon/session/plan/types.h"

namespace profd::session {

struct ResumeRecord {
  std::string session;
  auth::Caller owner;
  SessionSpec spec;                       // pids resolved, without a directory
  uint64_t end_wall_ns = 0;               // when its duration is over
  std::string boot;                       // raw times and pids mean nothing in another one
  std::map<pid_t, uint64_t> start_ticks;  // of the targets: a pid may be somebody else's by then
  std::vector<std::string> directories;
};

// Of a session that runs. `spec` lends all but its descriptor.
ResumeRecord MakeResume(const SessionInfo& info, const auth::Caller& owner, const SessionSpec& spec,
                        std::map<pid_t, uint64_t> start_ticks);
std::string WriteResume(const ResumeRecord& record);
base::Result<ResumeRecord> ParseResume(std::string_view json);

// Identifies this boot of the machine.
std::string BootId();

}  // namespace profd::session
