// Who may do what: the one place that decides.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.h"

namespace profd::auth {

// What a caller is beyond being somebody, each with all that the one before may.
enum class Standing : uint8_t {
  kNone,    // their own processes and sessions
  kMember,  // of auth.group: what shows every job of the node, too
  kAdmin,   // root, and members of auth.admin_group: everything
};

// What a caller from another machine may.
enum class Role : uint8_t {
  kAccount,   // what the account may that the settings name; every local caller, too
  kViewer,    // see everything, change nothing
  kOperator,  // collect and stop everything; what is recorded stays where it is
  kAdmin,     // everything
};

// Who calls: as the kernel told the door, or as the settings say of a certificate.
struct Caller {
  uid_t uid = static_cast<uid_t>(-1);  // root's for a role, whose sessions are root's
  gid_t gid = static_cast<gid_t>(-1);
  pid_t pid = 0;
  std::string user = {};     // name of uid, or the number as text; for a role the name in the certificate
  std::string program = {};  // path of what it ran when it knocked; untrusted text, may be empty
  Standing standing = Standing::kNone;
  std::vector<uint32_t> leased = {};  // devices it has a lease on now
  bool breakpoints = false;           // may have some set, by auth.breakpoints
  Role role = Role::kAccount;
  std::string remote = {};  // the address it came from, "" = this node
};

enum class Action : uint8_t {
  kSeeNode,         // devices, doctor
  kCollectDevice,   // device-wide kinds of a device
  kSeeDevice,       // what others collect of it
  kCollectHost,     // kinds of the whole host
  kCollectProcess,  // of a process of `owner`
  kSetBreakpoints,  // in it, which holds up the whole node
  kSeeProcess,      // of `owner`
  kSeeSession,      // of `owner`
  kStopSession,     // of `owner`
  kKeepSession,     // pin, unpin, move, remove one of `owner`
  kLease,           // give and take devices
  kTapeDriver,      // hear what profd asks of the driver, with the bytes
};

struct Target {
  uid_t owner = 0;
  uint32_t device = UINT32_MAX;
};

bool IsAdmin(const Caller& caller);

// Ok, or kPermissionDenied with the reason and what to do.
base::Status May(const Caller& caller, Action action, Target target = {});

}  // namespace profd::auth
