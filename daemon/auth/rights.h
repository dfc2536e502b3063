// What the settings and root have granted beyond what everybody may: groups and leases.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "daemon/auth/policy.h"
#include "daemon/config/config.h"

namespace profd::auth {

struct Groups {
  std::optional<gid_t> members;
  std::optional<gid_t> admins;
  Standing breakpoints = Standing::kAdmin;  // the least that may have them set
};

// By their names (or numbers); one that does not exist is nobody's, which the log says. May block (a
// directory service): not on ctl.
Groups ResolveGroups(const config::Config::Auth& names);

// A user's right to collect device-wide kinds of some devices for some time. Given by root, or by the
// scheduler in root's name: that a process has a device open is no proof that the device is its user's alone.
struct Lease {
  std::string id;
  uid_t uid = static_cast<uid_t>(-1);
  std::string user;
  std::vector<uint32_t> devices;
  uint64_t since_wall_ns = 0;
  uint64_t until_wall_ns = 0;
  std::string given_by;  // user
};

// **Thread:** any.
class Rights {
 public:
  void SetGroups(Groups groups);
  void SetLeases(std::vector<Lease> leases);

  // What the caller has by its groups (those the kernel named at the door) and by leases, at this moment.
  void Grant(Caller& caller, const std::vector<gid_t>& groups) const;
  // All but the groups: of one whose were looked at before.
  void GrantLeases(Caller& caller) const;

 private:
  void GrantLeasesLocked(Caller& caller) const;

  mutable std::mutex mutex_;
  Groups groups_;
  std::vector<Lease> leases_;
};

}  // namespace profd::auth
