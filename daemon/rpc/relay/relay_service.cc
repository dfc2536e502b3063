#include "daemon/rpc/relay/relay_service.h"

#include <algorithm>
#include <chrono>
#include <sstream>
#include <utility>

#include "base/clock.h"
#include "base/files/whole_file.h"
#include "daemon/rpc/relay/relay_call.h"
#include "daemon/rpc/relay/relay_check.h"

namespace profd::rpc {

using base::Code;
using base::Status;

namespace {

constexpr int kMostCalls = 8;
constexpr size_t kMostKept = 1024;
constexpr double kCost = 5;  // of limits.requests_per_s
constexpr std::chrono::seconds kPatience{300};

std::vector<std::string> Patterns(const std::string& list) {
  std::vector<std::string> patterns;
  std::istringstream items(list);
  for (std::string item; std::getline(items, item, ',');) {
    const size_t begin = item.find_first_not_of(' ');
    if (begin == std::string::npos) continue;
    patterns.push_back(item.substr(begin, item.find_last_not_of(' ') - begin + 1));
  }
  return patterns;
}

}  // namespace

Status RelayService::Check(const config::Config::Remote& remote) {
  if (remote.relay.empty() || (!remote.listen.empty() && remote.plain == "off")) return {};
  return {Code::kInvalidArgument,
          "remote.relay: needs remote.listen with certificates, which it shows other nodes"};
}

RelayService::RelayService(config::Config::Remote remote, Identity identity, auth::Limits& limits,
                           auth::Audit& audit)
    : remote_(std::move(remote)),
      nodes_(Patterns(remote_.relay)),
      identity_(std::move(identity)),
      limits_(limits),
      audit_(audit) {}

Status RelayService::May(const base::Result<auth::Caller>& caller, const v1::RelayRequest& request) const {
  if (!caller.ok()) return caller.status();
  PROFD_RETURN_IF_ERROR(CheckRelay(*caller, request, nodes_));
  if (RelayCall::UnderWay() >= kMostCalls) {
    return {Code::kResourceExhausted,
            std::to_string(kMostCalls) + " calls are being relayed already: try again later"};
  }
  return limits_.TakeRequest(*caller, kCost);
}

std::shared_ptr<remote::Ways> RelayService::Ways() {
  std::array<std::string, 3> now = {base::ReadWholeOrNothing(remote_.client_ca),
                                    base::ReadWholeOrNothing(remote_.cert),
                                    base::ReadWholeOrNothing(remote_.key)};
  const std::lock_guard lock(mutex_);
  if (ways_ == nullptr || now != certificates_) {
    ways_ = std::make_shared<remote::Ways>(remote::Credentials::Tls(now[0], now[1], now[2]), kMostKept);
    certificates_ = std::move(now);
  }
  return ways_;
}

grpc::ServerWriteReactor<v1::RelayAnswer>* RelayService::Ask(grpc::CallbackServerContext* context,
                                                             const v1::RelayRequest* request) {
  const base::Result<auth::Caller> caller = identity_.Of(*context);
  const Status may = May(caller, *request);
  audit_.Note(caller.ok() ? *caller : auth::Caller(), "relay",
              request->method() + " to " + std::to_string(request->calls_size()) + " nodes", may);
  const auto call = std::make_shared<RelayCall>(open_);
  if (!may.ok()) {
    call->Refuse(may);
    return call.get();
  }
  // The answers have an eighth of the time to get back.
  const auto left = std::min<std::chrono::system_clock::duration>(
      context->deadline() - std::chrono::system_clock::now(), kPatience);
  const auto left_ns = std::chrono::duration_cast<std::chrono::nanoseconds>(left).count();
  call->Begin(*request, Ways(),
              base::MonotonicNs() + static_cast<uint64_t>(std::max<int64_t>(left_ns, 0)) / 8 * 7);
  return call.get();
}

}  // namespace profd::rpc
