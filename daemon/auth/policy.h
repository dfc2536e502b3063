// Who may do what: the one place that decides. Until the service issue's rules: root may everything; another
// user sees and profiles their own processes and sessions, and takes no device-wide kinds.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/status.h"

namespace profd::auth {

// Who calls, as the kernel told the door.
struct Caller {
  uid_t uid = static_cast<uid_t>(-1);
  gid_t gid = static_cast<gid_t>(-1);
  pid_t pid = 0;
  std::string user;  // name of uid, or the number as text
};

enum class Action : uint8_t {
  kSeeNode,         // devices, doctor
  kCollectDevice,   // device-wide kinds
  kCollectHost,     // whole-host kinds without a pid
  kCollectProcess,  // target_uid = owner of the process
  kSeeProcess,      // target_uid = owner of the process
  kSeeSession,      // target_uid = owner of the session
  kStopSession,
  kKeepSession,  // pin, unpin, remove
};

// Ok, or kPermissionDenied with the reason and what to do.
base::Status May(const Caller& caller, Action action, uid_t target_uid = 0);

}  // namespace profd::auth
