// profd.v1.Control: decode on gRPC's threads, decide on ctl.
#pragma once

#include <cstddef>
#include <memory>

#include "daemon/auth/audit.h"
#include "daemon/auth/limits.h"
#include "daemon/auth/tickets.h"
#include "daemon/base/executor.h"
#include "daemon/live/live.h"
#include "daemon/rpc/calls/identity.h"
#include "daemon/session/manager.h"

namespace grpc {
class Service;
}

namespace profd::rpc {

// **Thread:** handlers on gRPC's; the manager is called on ctl only.
class ControlService {
 public:
  ControlService(session::Manager& manager, live::Live& live, base::Executor& ctl, auth::Tickets& tickets,
                 Identity identity, auth::Limits& limits, auth::Audit& audit);
  ~ControlService();
  ControlService(const ControlService&) = delete;
  ControlService& operator=(const ControlService&) = delete;

  grpc::Service* service();
  // See Server::Shutdown().
  size_t AbortAll();

 private:
  class Calls;
  std::unique_ptr<Calls> calls_;
};

}  // namespace profd::rpc
