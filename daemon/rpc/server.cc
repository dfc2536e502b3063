#include "daemon/rpc/server.h"

#include <google/protobuf/stubs/logging.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>

#include <chrono>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "daemon/auth/door/conduit.h"
#include "daemon/auth/door/gate.h"
#include "daemon/auth/holders.h"
#include "daemon/auth/limits.h"
#include "daemon/base/log.h"
#include "daemon/rpc/agents/agent_service.h"
#include "daemon/rpc/calls/identity.h"
#include "daemon/rpc/control/control_service.h"
#include "daemon/rpc/otlp_exporter.h"
#include "daemon/rpc/registrar.h"
#include "daemon/rpc/relay/relay_service.h"
#include "daemon/rpc/remote_listener.h"
#include "daemon/rpc/standard_services.h"

namespace profd::rpc {

namespace {

constexpr int kMaxReceivedBytes = 1 << 20;  // a start with all it may have stays far below
constexpr int kMaxSentBytes = 64 << 20;     // all targets of a full node
constexpr size_t kMaxClients = 1024;
constexpr int kIdleMs = 300'000;
constexpr int kMaxStreamsPerConnection = 64;
constexpr int kHandshakeMs = 10'000;
// Of all connections together. Where it is full gRPC ends those of anybody: so it has room for all that there
// may be, of which the conduit bounds each user's. Nobody bounds what comes over TCP, where TLS ends in gRPC:
// that has its own, and a server of its own.
constexpr size_t kMaxBufferedBytes = 256 << 20;
constexpr size_t kMaxBufferedBytesOfRemote = 64 << 20;
constexpr int kMaxStreamsPerRemoteConnection = 32;
constexpr std::chrono::milliseconds kShutdownGrace{100};
constexpr std::chrono::milliseconds kLastWords{30};

std::vector<std::string> ServiceNames(bool relays) {
  std::vector<std::string> names = {"profd.v1.Control", "profd.v1.Agent", "grpc.health.v1.Health",
                                    "grpc.reflection.v1alpha.ServerReflection"};
  if (relays) names.emplace_back("profd.v1.Relay");
  return names;
}

// Twenty frames for each request there may be: a connection has some of its own, and a client may ask in
// pieces.
auth::Conduit::Options ConduitOptions(const config::Config& config) {
  const config::Config::Limits& limits = config.limits;
  return {.frames_per_s = 20 * static_cast<double>(limits.requests_per_s),
          .max_calls_per_connection = 2 * kMaxStreamsPerConnection,
          .max_calls_per_uid = 4 * limits.connections_per_user + config.agent.max_agents_per_user};
}

// profd accepts by itself: gRPC would take connections without end from whoever makes them.
auth::Gate::Options GateOptions(const config::Config& config, auth::Conduit& conduit,
                                grpc::experimental::ExternalConnectionAcceptor& acceptor) {
  auth::Gate::Options options;
  options.room = {.most = kMaxClients + config.agent.max_agents,
                  .most_of_one = config.limits.connections_per_user + config.agent.max_agents_per_user};
  options.relieve = [&conduit](uid_t uid) { conduit.Relieve(uid); };
  options.pass = [&](base::UniqueFd client, uid_t uid) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    if (uid == 0) {
      connection.fd = client.Release();
    } else {
      auto carried = conduit.Carry(std::move(client), uid);
      if (!carried.ok()) return base::LogWarn(carried.status().message());
      connection.fd = carried->Release();
    }
    acceptor.HandleNewConnection(&connection);
  };
  return options;
}

// The peer's address has to reach the audit log: gRPC has the connection itself.
auth::Gate::Options RemoteGateOptions(const config::Config& config, auth::Holders& holders,
                                      grpc::experimental::ExternalConnectionAcceptor& acceptor) {
  auth::Gate::Options options;
  options.room = {.most = kMaxClients, .most_of_one = config.limits.connections_per_user};
  options.pass = [&](base::UniqueFd client, uid_t) {
    grpc::experimental::ExternalConnectionAcceptor::NewConnectionParameters connection;
    holders.Add(client.get());
    connection.fd = client.Release();
    acceptor.HandleNewConnection(&connection);
  };
  return options;
}

base::Result<auth::RemoteRoles> RolesOf(const config::Config::Remote& remote) {
  return auth::RemoteRoles::Parse({remote.viewers, remote.operators, remote.admins, remote.users});
}

}  // namespace

base::Status CheckSettings(const config::Config& config, std::vector<std::string>* warnings) {
  const config::Config::Remote& remote = config.remote;
  PROFD_RETURN_IF_ERROR(RolesOf(remote).status());
  PROFD_RETURN_IF_ERROR(RelayService::Check(remote));
  if (!remote.listen.empty()) {
    PROFD_RETURN_IF_ERROR(RemoteAddress(remote).status());
    PROFD_RETURN_IF_ERROR(CheckCertificates(remote, warnings));
  }
  if (!config.metrics.otlp.empty()) PROFD_RETURN_IF_ERROR(OtlpExporter::Check(config.metrics));
  return Registrar::CheckSettings(config);
}

class Server::Impl {
 public:
  Impl(const config::Config& config, session::Manager& manager, live::Live& live, agent::Registry& agents,
       base::Executor& ctl, auth::Tickets& tickets, auth::RemoteRoles roles, auth::Audit& audit)
      : limits(config.limits),
        holders(ctl, {.most = config.limits.connections_per_user}),
        identity(tickets, std::move(roles), holders, config.remote.plain),
        control(manager, live, ctl, tickets, identity, limits, audit),
        agent(agents, ctl, tickets, audit),
        health(ServiceNames(!config.remote.relay.empty()), identity),
        reflection(ServiceNames(!config.remote.relay.empty()), identity) {
    if (!config.remote.relay.empty()) {
      relay = std::make_unique<RelayService>(config.remote, identity, limits, audit);
    }
  }

  auth::Limits limits;
  auth::Holders holders;
  const Identity identity;
  ControlService control;
  AgentService agent;
  std::unique_ptr<RelayService> relay;  // where the settings want it
  HealthService health;
  ReflectionService reflection;
  // One for the socket, one for TCP, with the same services. None: gRPC did not start it.
  struct Way {
    std::unique_ptr<grpc::experimental::ExternalConnectionAcceptor> acceptor;
    std::unique_ptr<grpc::Server> server;
  };
  Way Open(const std::shared_ptr<grpc::ServerCredentials>& credentials, size_t max_buffered_bytes,
           int max_streams);

  Way local, remote;
  std::unique_ptr<auth::Conduit> conduit;
  std::unique_ptr<auth::Gate> gate, remote_gate;
};

Server::Impl::Way Server::Impl::Open(const std::shared_ptr<grpc::ServerCredentials>& credentials,
                                     size_t max_buffered_bytes, int max_streams) {
  grpc::ServerBuilder builder;
  Way way;
  way.acceptor = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD, credentials);
  builder.SetMaxReceiveMessageSize(kMaxReceivedBytes);
  builder.SetMaxSendMessageSize(kMaxSentBytes);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, max_streams);
  // A few bytes could become very many, before anybody has asked who says them.
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0);
  builder.AddChannelArgument(GRPC_ARG_ENABLE_PER_MESSAGE_COMPRESSION, 0);
  for (const auto algorithm : {GRPC_COMPRESS_DEFLATE, GRPC_COMPRESS_GZIP})
    builder.SetCompressionAlgorithmSupportStatus(algorithm, false);
  builder.SetResourceQuota(grpc::ResourceQuota("profd").Resize(max_buffered_bytes));
  builder.RegisterService(control.service());
  builder.RegisterService(&agent);
  if (relay != nullptr) builder.RegisterService(relay.get());
  builder.RegisterService(&health);
  builder.RegisterService(&reflection);
  // Who connects and says nothing, or has nothing to say any more, is let go.
  builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeMs);
  builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kIdleMs);
  way.server = builder.BuildAndStart();
  return way;
}

Server::Server(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Server::~Server() { Shutdown(); }

base::Result<std::unique_ptr<Server>> Server::Start(const config::Config& config, session::Manager& manager,
                                                    live::Live& live, agent::Registry& agents,
                                                    base::Executor& ctl, auth::Tickets& tickets,
                                                    auth::Audit& audit) {
  const config::Config::Remote& remote = config.remote;
  PROFD_ASSIGN_OR_RETURN(auth::RemoteRoles roles, RolesOf(remote));
  auto impl = std::make_unique<Impl>(config, manager, live, agents, ctl, tickets, std::move(roles), audit);
  grpc::EnableDefaultHealthCheckService(false);
  // A message that is none is its sender's to hear of, not for the log to be filled with.
  google::protobuf::SetLogHandler(nullptr);
  impl->local = impl->Open(grpc::InsecureServerCredentials(), kMaxBufferedBytes, kMaxStreamsPerConnection);
  base::HostPort remote_address;
  if (!remote.listen.empty()) {
    PROFD_ASSIGN_OR_RETURN(remote_address, RemoteAddress(remote));
    PROFD_ASSIGN_OR_RETURN(const auto credentials, RemoteCredentials(remote));
    impl->remote = impl->Open(credentials, kMaxBufferedBytesOfRemote, kMaxStreamsPerRemoteConnection);
  }
  if (impl->local.server == nullptr || (!remote.listen.empty() && impl->remote.server == nullptr))
    return base::Status(base::Code::kInternal, "gRPC did not start its server");
  PROFD_ASSIGN_OR_RETURN(impl->conduit, auth::Conduit::Start(ConduitOptions(config)));
  PROFD_ASSIGN_OR_RETURN(
      impl->gate,
      auth::Gate::Start(config.socket, ctl, GateOptions(config, *impl->conduit, *impl->local.acceptor)));
  if (impl->remote.server != nullptr) {
    auto gate = auth::Gate::StartTcp(remote_address, ctl,
                                     RemoteGateOptions(config, impl->holders, *impl->remote.acceptor));
    if (!gate.ok()) return gate.status().In("remote.listen");
    impl->remote_gate = std::move(gate).value();
  }
  return std::unique_ptr<Server>(new Server(std::move(impl)));
}

void Server::Shutdown() {
  if (impl_->local.server == nullptr) return;
  impl_->gate.reset();
  impl_->remote_gate.reset();
  // gRPC closes a connection as soon as its last stream has ended, and a client that writes just then (it
  // acknowledges what it reads) sees a broken pipe instead of the answer: they get the time to read it.
  const size_t relayed = impl_->relay == nullptr ? 0 : impl_->relay->AbortAll();
  if (impl_->control.AbortAll() + impl_->agent.AbortAll() + relayed > 0)
    std::this_thread::sleep_for(kLastWords);
  const auto grace = std::chrono::system_clock::now() + kShutdownGrace;
  for (Impl::Way* way : {&impl_->local, &impl_->remote}) {
    if (way->server != nullptr) way->server->Shutdown(grace);
    way->server.reset();
  }
  impl_->conduit.reset();
}

}  // namespace profd::rpc
