// profd.v1.Relay: asks other nodes for a caller.
#pragma once

#include <array>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/auth/audit.h"
#include "daemon/auth/limits.h"
#include "daemon/config/config.h"
#include "daemon/rpc/calls/identity.h"
#include "daemon/rpc/calls/open_calls.h"
#include "profd/v1/relay.grpc.pb.h"
#include "remote/ways.h"

namespace profd::rpc {

// **Thread:** gRPC's; nothing of it runs on ctl.
class RelayService : public v1::Relay::CallbackService {
 public:
  // The error names the setting.
  static base::Status Check(const config::Config::Remote& remote);
  // For `remote.relay`, which is set and was checked.
  RelayService(config::Config::Remote remote, Identity identity, auth::Limits& limits, auth::Audit& audit);

  // See Server::Shutdown().
  size_t AbortAll() { return open_->AbortAll(); }

  grpc::ServerWriteReactor<v1::RelayAnswer>* Ask(grpc::CallbackServerContext* context,
                                                 const v1::RelayRequest* request) override;

 private:
  base::Status May(const base::Result<auth::Caller>& caller, const v1::RelayRequest& request) const;
  // New ones when this node's certificates have changed.
  std::shared_ptr<remote::Ways> Ways();

  const config::Config::Remote remote_;
  const std::vector<std::string> nodes_;  // patterns
  const Identity identity_;
  auth::Limits& limits_;
  auth::Audit& audit_;
  std::mutex mutex_;
  std::array<std::string, 3> certificates_;  // under mutex_, as the next: what it shows
  std::shared_ptr<remote::Ways> ways_;
  // Shared: calls may outlive the service.
  const std::shared_ptr<OpenCalls> open_ = std::make_shared<OpenCalls>();
};

}  // namespace profd::rpc
