// profd.v1.Agent: a stream for each process that has an agent.
#pragma once

#include <memory>

#include "daemon/agent/registry.h"
#include "daemon/auth/audit.h"
#include "daemon/auth/tickets.h"
#include "daemon/base/executor.h"
#include "daemon/rpc/calls/open_calls.h"
#include "profd/v1/agent.grpc.pb.h"

namespace profd::rpc {

// **Thread:** handlers on gRPC's; the registry is called on ctl only.
class AgentService : public v1::Agent::CallbackService {
 public:
  AgentService(agent::Registry& registry, base::Executor& ctl, auth::Tickets& tickets, auth::Audit& audit)
      : registry_(registry), ctl_(ctl), tickets_(tickets), audit_(audit) {}

  // See Server::Shutdown().
  size_t AbortAll() { return open_->AbortAll(); }

  grpc::ServerBidiReactor<v1::AgentMessage, v1::AgentCommand>* Register(
      grpc::CallbackServerContext* context) override;

 private:
  agent::Registry& registry_;
  base::Executor& ctl_;
  auth::Tickets& tickets_;
  auth::Audit& audit_;
  const std::shared_ptr<OpenCalls> open_ = std::make_shared<OpenCalls>();
};

}  // namespace profd::rpc
