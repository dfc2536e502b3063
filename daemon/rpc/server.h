// The gRPC server on the control socket: Control, Agent, health and reflection. No gRPC in this header.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/agent/registry.h"
#include "daemon/auth/audit.h"
#include "daemon/auth/tickets.h"
#include "daemon/base/executor.h"
#include "daemon/config/config.h"
#include "daemon/live/live.h"
#include "daemon/session/manager.h"

namespace profd::rpc {

// What a start would refuse of `remote`, `registry` and `metrics.otlp`: one line, else ok.
// `warnings`: what is taken, and should not be used.
base::Status CheckSettings(const config::Config& config, std::vector<std::string>* warnings);

// **Thread:** the one that starts the daemon, or ctl. **Owns:** the socket file, gRPC's threads.
class Server {
 public:
  // `config` passes CheckSettings(), and its socket is free: the SocketClaim saw to that.
  static base::Result<std::unique_ptr<Server>> Start(const config::Config& config, session::Manager& manager,
                                                     live::Live& live, agent::Registry& agents,
                                                     base::Executor& ctl, auth::Tickets& tickets,
                                                     auth::Audit& audit);
  ~Server();  // calls Shutdown()
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  // On ctl or when ctl has stopped, after Manager::Shutdown() is done and while manager and registry still
  // live: watchers get the last value, calls still open and agents UNAVAILABLE. Blocks for 0.2 s at most.
  void Shutdown();

 private:
  class Impl;
  explicit Server(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::rpc
