#include "daemon/rpc/server.h"

#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/auth/socket_claim.h"
#include "daemon/rpc/agent_service.h"
#include "daemon/rpc/control_service.h"
#include "daemon/rpc/identity.h"
#include "daemon/rpc/remote_listener.h"
#include "daemon/rpc/standard_services.h"

namespace profd::rpc {

namespace {

constexpr int kMaxReceivedBytes = 4 << 20;
constexpr int kMaxSentBytes = 64 << 20;  // all targets of a full node
constexpr int kMaxStreamsPerConnection = 64;
constexpr int kHandshakeMs = 10'000;
constexpr size_t kMaxBufferedBytes = 32 << 20;  // of all connections together
constexpr std::chrono::milliseconds kShutdownGrace{100};
constexpr std::chrono::milliseconds kLastWords{30};

std::vector<std::string> ServiceNames() {
  return {"profd.v1.Control", "profd.v1.Agent", "grpc.health.v1.Health",
          "grpc.reflection.v1alpha.ServerReflection"};
}

}  // namespace

class Server::Impl {
 public:
  Impl(session::Manager& manager, live::Live& live, agent::Registry& agents, base::Executor& ctl,
       auth::Tickets& tickets, Identity identity)
      : control(manager, live, ctl, tickets, std::move(identity)), agent(agents, ctl, tickets) {}

  ControlService control;
  AgentService agent;
  HealthService health{ServiceNames()};
  ReflectionService reflection{ServiceNames()};
  std::unique_ptr<grpc::Server> server;
};

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { Shutdown(); }

base::Result<std::unique_ptr<Server>> Server::Start(const config::Config& config, session::Manager& manager,
                                                    live::Live& live, agent::Registry& agents,
                                                    base::Executor& ctl, auth::Tickets& tickets) {
  const std::string& socket = config.socket;
  const config::Config::Remote& remote = config.remote;
  PROFD_ASSIGN_OR_RETURN(auth::RemoteRoles roles, auth::RemoteRoles::Parse({remote.viewers, remote.operators,
                                                                            remote.admins, remote.users}));
  auto impl = std::make_unique<Impl>(manager, live, agents, ctl, tickets,
                                     Identity(tickets, std::move(roles), remote.plain));
  grpc::EnableDefaultHealthCheckService(false);
  grpc::ServerBuilder builder;
  builder.AddListeningPort("unix:" + socket, grpc::InsecureServerCredentials());
  if (!remote.listen.empty()) {
    PROFD_ASSIGN_OR_RETURN(const auto credentials, RemoteCredentials(remote));
    builder.AddListeningPort(remote.listen, credentials);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  }
  builder.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  builder.SetMaxSendMessageSize(kMaxSentBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
  builder.SetResourceQuota(grpc::ResourceQuota("profd").Resize(kMaxBufferedBytes));
  builder.RegisterService(&impl->control);
  builder.RegisterService(&impl->agent);
  builder.RegisterService(&impl->health);
  builder.RegisterService(&impl->reflection);
  {
    const auth::SocketUmask everybody_may_connect;
    impl->server = builder.BuildAndStart();
  }
  if (impl->server == nullptr) {
    return base::Status(base::Code::kInternal,
                        "cannot listen on " + socket +
                            (remote.listen.empty() ? "" : " and " + remote.listen) +
                            ": gRPC refused it; is the socket's folder writable, the port free?");
  }
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

void Server::Shutdown() {
  if (impl_->server == nullptr) return;
  // gRPC closes a connection as soon as its last stream has ended, and a client that writes just then (it
  // acknowledges what it reads) sees a broken pipe instead of the answer: they get the time to read it.
  if (impl_->control.AbortAll() + impl_->agent.AbortAll() > 0) std::this_thread::sleep_for(kLastWords);
  impl_->server->Shutdown(std::chrono::system_clock::now() + kShutdownGrace);
  impl_->server.reset();
}

}  // namespace profd::rpc
