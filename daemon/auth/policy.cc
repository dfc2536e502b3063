#include "daemon/auth/policy.h"

#include <algorithm>

namespace profd::auth {

namespace {

base::Status Denied(const Caller& caller, const std::string& what) {
  const std::string user = caller.user.empty() ? std::to_string(caller.uid) : caller.user;
  return {base::Code::kPermissionDenied, "user " + user + " may not " + what};
}

base::Status IfOwner(const Caller& caller, uid_t owner, const std::string& what, const std::string& way_out) {
  if (caller.uid == owner) return base::Status::Ok();
  return Denied(caller, what + " of user " + std::to_string(owner) + ": " + way_out);
}

// What a role takes from the root that it stands for.
base::Status AllowedTo(const Caller& caller, Action action) {
  switch (caller.role) {
    case Role::kAccount:
    case Role::kAdmin:
      return base::Status::Ok();
    case Role::kViewer:
      if (action == Action::kSeeNode || action == Action::kSeeDevice || action == Action::kSeeProcess ||
          action == Action::kSeeSession) {
        return base::Status::Ok();
      }
      return Denied(caller, "change anything as a viewer: ask for the role of an operator");
    case Role::kOperator:
      if (action != Action::kKeepSession && action != Action::kLease && action != Action::kTapeDriver)
        return base::Status::Ok();
      return Denied(
          caller,
          "move or remove sessions, lend devices or tape the driver's calls, as an operator: ask an "
          "admin");
  }
  return Denied(caller, "do that");
}

}  // namespace

bool IsAdmin(const Caller& caller) { return caller.uid == 0 || caller.standing == Standing::kAdmin; }

base::Status May(const Caller& caller, Action action, Target target) {
  PROFD_RETURN_IF_ERROR(AllowedTo(caller, action));
  if (IsAdmin(caller)) return base::Status::Ok();
  switch (action) {
    case Action::kSeeNode:
      return base::Status::Ok();
    case Action::kCollectDevice:
    case Action::kSeeDevice:
      if (caller.standing == Standing::kMember) return base::Status::Ok();
      if (std::find(caller.leased.begin(), caller.leased.end(), target.device) != caller.leased.end()) {
        return base::Status::Ok();
      }
      return Denied(caller,
                    (action == Action::kSeeDevice ? "see device kinds" : "collect device kinds") +
                        (target.device == UINT32_MAX ? "" : " of device " + std::to_string(target.device)) +
                        ", they show every job on it: ask root for a lease (profctl lease add) or to add you "
                        "to the group that may (auth.group)");
    case Action::kCollectHost:
      if (caller.standing == Standing::kMember) return base::Status::Ok();
      return Denied(
          caller,
          "collect kinds of the whole host: give a process of your own with --pid and its kinds, or "
          "ask root to add you to the group that may (auth.group)");
    case Action::kCollectProcess:
      return IfOwner(caller, target.owner, "collect a process", "give a process of your own, or ask root");
    case Action::kSetBreakpoints:
      if (caller.breakpoints) return base::Status::Ok();
      return Denied(
          caller,
          "have breakpoints set (host-pthread): while the kernel sets one, no process of the node can "
          "fork; ask root to record it or to allow it (auth.breakpoints in profd.yaml), or collect "
          "host-osrt or host-off-cpu, which show waits, too");
    case Action::kSeeProcess:
      return IfOwner(caller, target.owner, "see a process", "ask its owner or root");
    case Action::kSeeSession:
      return IfOwner(caller, target.owner, "see a session", "ask its owner or root");
    case Action::kStopSession:
      return IfOwner(caller, target.owner, "stop a session", "ask its owner or root");
    case Action::kKeepSession:
      return IfOwner(caller, target.owner, "pin, move or remove a session", "ask its owner or root");
    case Action::kLease:
      return Denied(caller, "give or take leases: ask root");
    case Action::kTapeDriver:
      return Denied(caller, "tape what the driver is asked, which shows every job on the devices: ask root");
  }
  return Denied(caller, "do that");
}

}  // namespace profd::auth
