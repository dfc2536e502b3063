#include "daemon/rpc/relay/relay_check.h"

#include <fnmatch.h>

#include <algorithm>
#include <map>
#include <string_view>

namespace profd::rpc {

using base::Code;
using base::Status;

namespace {

constexpr int kMostNodes = 4096;  // of one call

// What of Control can be relayed, and what a caller must be allowed to do here for it.
const std::map<std::string_view, auth::Action> kMethods = {
    {"List", auth::Action::kSeeSession},    {"Get", auth::Action::kSeeSession},
    {"Devices", auth::Action::kSeeNode},    {"Doctor", auth::Action::kSeeNode},
    {"Targets", auth::Action::kSeeProcess}, {"ListLeases", auth::Action::kSeeNode},
    {"Start", auth::Action::kCollectHost},  {"Snapshot", auth::Action::kStopSession},
    {"Stop", auth::Action::kStopSession},   {"Pin", auth::Action::kKeepSession},
    {"Remove", auth::Action::kKeepSession}, {"AddLease", auth::Action::kLease},
    {"RemoveLease", auth::Action::kLease},  {"Pause", auth::Action::kStopSession},
    {"Plan", auth::Action::kCollectHost},   {"Stacks", auth::Action::kCollectHost},
    {"Jobs", auth::Action::kSeeProcess},
};

}  // namespace

Status CheckRelay(const auth::Caller& caller, const v1::RelayRequest& request,
                  const std::vector<std::string>& nodes) {
  if (caller.role == auth::Role::kAccount && !auth::IsAdmin(caller)) {
    return {Code::kPermissionDenied, "user " + caller.user +
                                         " may not ask other nodes through this one, whose rights there are "
                                         "of a role: ask the nodes themselves"};
  }
  const auto method = kMethods.find(request.method());
  if (method == kMethods.end()) {
    return {Code::kInvalidArgument,
            "'" + request.method().substr(0, 64) + "' is not a method that is relayed"};
  }
  PROFD_RETURN_IF_ERROR(auth::May(caller, method->second));
  if (request.calls_size() > kMostNodes) {
    return {Code::kInvalidArgument, std::to_string(request.calls_size()) + " nodes: at most " +
                                        std::to_string(kMostNodes) + " through one relay; name more relays"};
  }
  for (const v1::RelayCall& call : request.calls()) {
    const std::string& host = call.host();
    if (std::ranges::none_of(nodes, [&host](const std::string& pattern) {
          return ::fnmatch(pattern.c_str(), host.c_str(), 0) == 0;
        })) {
      return {Code::kInvalidArgument,
              host.substr(0, 256) + " is not one of the nodes that this one asks for others (remote.relay)"};
    }
  }
  return {};
}

}  // namespace profd::rpc
