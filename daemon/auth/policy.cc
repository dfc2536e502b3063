#include "daemon/auth/policy.h"

namespace profd::auth {

namespace {

base::Status Denied(const Caller& caller, const std::string& what) {
  const std::string user = caller.user.empty() ? std::to_string(caller.uid) : caller.user;
  return {base::Code::kPermissionDenied, "user " + user + " may not " + what};
}

}  // namespace

base::Status May(const Caller& caller, Action action, uid_t target_uid) {
  if (caller.uid == 0) return base::Status::Ok();
  switch (action) {
    case Action::kSeeNode:
      return base::Status::Ok();
    case Action::kCollectDevice:
      return Denied(caller, "collect device kinds, they show every job of the node: ask root");
    case Action::kCollectHost:
      return Denied(caller,
                    "collect kinds of the whole host: give a process of your own with --pid, or ask root");
    case Action::kCollectProcess:
      if (caller.uid == target_uid) return base::Status::Ok();
      return Denied(caller, "collect a process of user " + std::to_string(target_uid) +
                                ": give a process of your own, or ask root");
    case Action::kSeeProcess:
      if (caller.uid == target_uid) return base::Status::Ok();
      return Denied(caller,
                    "see a process of user " + std::to_string(target_uid) + ": ask its owner or root");
    case Action::kSeeSession:
      if (caller.uid == target_uid) return base::Status::Ok();
      return Denied(caller,
                    "see a session of user " + std::to_string(target_uid) + ": ask its owner or root");
    case Action::kStopSession:
      if (caller.uid == target_uid) return base::Status::Ok();
      return Denied(caller,
                    "stop a session of user " + std::to_string(target_uid) + ": ask its owner or root");
    case Action::kKeepSession:
      if (caller.uid == target_uid) return base::Status::Ok();
      return Denied(caller, "pin or remove a session of user " + std::to_string(target_uid) +
                                ": ask its owner or root");
  }
  return Denied(caller, "do that");
}

}  // namespace profd::auth
