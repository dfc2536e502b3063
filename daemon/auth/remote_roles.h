// Who a caller from another machine is: what the settings say of the names in its certificate.
#pragma once

#include <sys/types.h>

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "daemon/auth/rights.h"

namespace profd::auth {

struct RemotePeer {
  std::string address;             // as gRPC names it: for messages and the audit log
  std::vector<std::string> names;  // of its certificate: the alternative ones, then the common name
};

// Of an account of this node. May block (a directory service): not on ctl.
std::vector<gid_t> GroupsOf(const std::string& account, gid_t gid);

// **Thread:** any; never changes.
class RemoteRoles {
 public:
  // Names separated by commas; `users` has "name=account". The settings' keys are in the errors.
  struct Lists {
    std::string viewers, operators, admins, users;
  };
  static base::Result<RemoteRoles> Parse(const Lists& lists);

  // The first of the names that is in a list decides; an account has what `rights` say of it and its groups.
  // kPermissionDenied when none is. May block (a directory service): not on ctl.
  base::Result<Caller> CallerOf(const RemotePeer& peer, const Rights* rights) const;
  // For whom its connections count: the name that decides, else its first one. Does not block.
  struct Holder {
    std::string name = {};
    bool is_limited = true;  // admins are not
  };
  Holder HolderOf(const RemotePeer& peer) const;
  // What a caller may that came without a certificate: the role's name in the settings, e.g. "viewer".
  static base::Result<Caller> CallerAs(std::string_view role, const std::string& address);

 private:
  struct Entry {
    Role role = Role::kAccount;
    std::string account;  // kAccount: whose rights
  };
  base::Status Add(const std::string& key, const std::string& list, Role role);

  std::map<std::string, Entry, std::less<>> entries_;
};

}  // namespace profd::auth
