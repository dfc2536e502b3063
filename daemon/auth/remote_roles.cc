#include "daemon/auth/remote_roles.h"

#include <grp.h>
#include <pwd.h>
#include <unistd.h>

#include <utility>

namespace profd::auth {

namespace {

using base::Code;
using base::Result;
using base::Status;

constexpr int kMostGroups = 1024;

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::string Joined(const std::vector<std::string>& names) {
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "'" : ", '") + name + "'";
  return all;
}

// Of a role: it owns what root owns, and may what the role may.
Caller As(Role role, std::string name, const std::string& address) {
  Caller caller;
  caller.uid = 0;
  caller.gid = 0;
  caller.user = std::move(name);
  caller.role = role;
  caller.remote = address;
  return caller;
}

Result<Caller> AsAccount(const std::string& account, const std::string& address, const Rights* rights) {
  std::vector<char> buffer(16 << 10);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwnam_r(account.c_str(), &entry, buffer.data(), buffer.size(), &found) != 0 || found == nullptr) {
    return Status(Code::kPermissionDenied,
                  "remote.users names the account '" + account + "', which this node does not have");
  }
  Caller caller;
  caller.uid = found->pw_uid;
  caller.gid = found->pw_gid;
  caller.user = account;
  caller.remote = address;
  if (rights != nullptr) rights->Grant(caller, GroupsOf(account, caller.gid));
  return caller;
}

}  // namespace

std::vector<gid_t> GroupsOf(const std::string& account, gid_t gid) {
  std::vector<gid_t> groups(kMostGroups);
  int count = kMostGroups;
  const bool known = ::getgrouplist(account.c_str(), gid, groups.data(), &count) >= 0;
  groups.resize(known ? static_cast<size_t>(count) : 0);
  return groups;
}

Status RemoteRoles::Add(const std::string& key, const std::string& list, Role role) {
  for (std::string_view rest = list; !rest.empty();) {
    const size_t comma = rest.find(',');
    std::string_view name = Trim(rest.substr(0, comma));
    rest = comma == std::string_view::npos ? std::string_view() : rest.substr(comma + 1);
    Entry entry{.role = role, .account = {}};
    if (role == Role::kAccount) {
      const size_t equals = name.rfind('=');
      if (equals == std::string_view::npos || equals + 1 == name.size()) {
        return {Code::kInvalidArgument, key + ": '" + std::string(name) + "' is not NAME=ACCOUNT"};
      }
      entry.account = Trim(name.substr(equals + 1));
      name = Trim(name.substr(0, equals));
    }
    if (name.empty()) return {Code::kInvalidArgument, key + ": an empty name; separate names by commas"};
    if (!entries_.emplace(name, std::move(entry)).second) {
      return {Code::kInvalidArgument, key + ": '" + std::string(name) + "' is in another list too"};
    }
  }
  return {};
}

Result<RemoteRoles> RemoteRoles::Parse(const Lists& lists) {
  RemoteRoles roles;
  PROFD_RETURN_IF_ERROR(roles.Add("remote.viewers", lists.viewers, Role::kViewer));
  PROFD_RETURN_IF_ERROR(roles.Add("remote.operators", lists.operators, Role::kOperator));
  PROFD_RETURN_IF_ERROR(roles.Add("remote.admins", lists.admins, Role::kAdmin));
  PROFD_RETURN_IF_ERROR(roles.Add("remote.users", lists.users, Role::kAccount));
  return roles;
}

Result<Caller> RemoteRoles::CallerOf(const RemotePeer& peer, const Rights* rights) const {
  for (const std::string& name : peer.names) {
    const auto found = entries_.find(name);
    if (found == entries_.end()) continue;
    if (found->second.role != Role::kAccount) return As(found->second.role, name, peer.address);
    return AsAccount(found->second.account, peer.address, rights);
  }
  return Status(Code::kPermissionDenied,
                "the certificate of " + peer.address + " names " +
                    (peer.names.empty() ? "nobody" : Joined(peer.names)) +
                    ", who is in none of this node's remote.viewers, .operators, .admins and .users");
}

RemoteRoles::Holder RemoteRoles::HolderOf(const RemotePeer& peer) const {
  for (const std::string& name : peer.names) {
    const auto found = entries_.find(name);
    if (found != entries_.end()) return {.name = name, .is_limited = found->second.role != Role::kAdmin};
  }
  return {.name = peer.names.empty() ? "" : peer.names.front()};
}

Result<Caller> RemoteRoles::CallerAs(std::string_view role, const std::string& address) {
  if (role == "viewer") return As(Role::kViewer, "viewer", address);
  if (role == "operator") return As(Role::kOperator, "operator", address);
  if (role == "admin") return As(Role::kAdmin, "admin", address);
  return Status(Code::kUnauthenticated,
                "a call from " + address + " without a certificate: this profd takes none");
}

}  // namespace profd::auth
