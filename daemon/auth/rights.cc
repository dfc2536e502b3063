#include "daemon/auth/rights.h"

#include <grp.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/clock.h"
#include "daemon/base/log.h"

namespace profd::auth {

namespace {

std::optional<gid_t> Resolve(const std::string& key, const std::string& name) {
  if (name.empty()) return std::nullopt;
  std::vector<char> buffer(64 << 10);
  group storage{};
  group* found = nullptr;
  while (::getgrnam_r(name.c_str(), &storage, buffer.data(), buffer.size(), &found) == ERANGE &&
         buffer.size() < (64U << 20)) {
    buffer.resize(buffer.size() * 2);  // a group of many members
  }
  if (found != nullptr) return found->gr_gid;
  gid_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error == std::errc() && end == name.data() + name.size()) return number;
  base::LogInfo("group " + name + " (" + key + ") does not exist: nobody has its rights");
  return std::nullopt;
}

}  // namespace

Groups ResolveGroups(const config::Config::Auth& names) {
  return {.members = Resolve("auth.group", names.group),
          .admins = Resolve("auth.admin_group", names.admin_group),
          .breakpoints = names.breakpoints == "everybody" ? Standing::kNone
                         : names.breakpoints == "group"   ? Standing::kMember
                                                          : Standing::kAdmin};
}

void Rights::SetGroups(Groups groups) {
  const std::lock_guard lock(mutex_);
  groups_ = groups;
}

void Rights::SetLeases(std::vector<Lease> leases) {
  const std::lock_guard lock(mutex_);
  leases_ = std::move(leases);
}

void Rights::Grant(Caller& caller, const std::vector<gid_t>& groups) const {
  const auto in = [&](const std::optional<gid_t>& group) {
    return group && (caller.gid == *group || std::find(groups.begin(), groups.end(), *group) != groups.end());
  };
  const std::lock_guard lock(mutex_);
  caller.standing = caller.uid == 0 || in(groups_.admins) ? Standing::kAdmin
                    : in(groups_.members)                 ? Standing::kMember
                                                          : Standing::kNone;
  GrantLeasesLocked(caller);
}

void Rights::GrantLeases(Caller& caller) const {
  const std::lock_guard lock(mutex_);
  GrantLeasesLocked(caller);
}

void Rights::GrantLeasesLocked(Caller& caller) const {
  caller.breakpoints = caller.standing >= groups_.breakpoints;
  caller.leased.clear();
  const uint64_t now = base::WallNs();
  for (const Lease& lease : leases_) {
    if (lease.uid != caller.uid || lease.until_wall_ns <= now) continue;
    caller.leased.insert(caller.leased.end(), lease.devices.begin(), lease.devices.end());
  }
}

}  // namespace profd::auth
