// profd.v1.Control: decode on gRPC's threads, decide on ctl.
#pragma once

#include <memory>
#include <string>

#include "daemon/auth/audit.h"
#include "daemon/auth/limits.h"
#include "daemon/auth/tickets.h"
#include "daemon/base/executor.h"
#include "daemon/live/live.h"
#include "daemon/rpc/identity.h"
#include "daemon/rpc/once.h"
#include "daemon/rpc/open_calls.h"
#include "daemon/session/manager.h"
#include "profd/v1/control.grpc.pb.h"

namespace profd::rpc {

// **Thread:** handlers on gRPC's; the manager is called on ctl only.
class ControlService : public v1::Control::CallbackService {
 public:
  ControlService(session::Manager& manager, live::Live& live, base::Executor& ctl, auth::Tickets& tickets,
                 Identity identity, auth::Limits& limits, auth::Audit& audit)
      : manager_(manager),
        live_(live),
        ctl_(ctl),
        tickets_(tickets),
        identity_(std::move(identity)),
        limits_(limits),
        audit_(audit) {}

  // See Server::Shutdown().
  size_t AbortAll() { return open_->AbortAll(); }

  grpc::ServerUnaryReactor* Hello(grpc::CallbackServerContext* context, const v1::HelloRequest* request,
                                  v1::HelloReply* reply) override;
  grpc::ServerUnaryReactor* Start(grpc::CallbackServerContext* context, const v1::StartRequest* request,
                                  v1::SessionInfo* reply) override;
  grpc::ServerUnaryReactor* Plan(grpc::CallbackServerContext* context, const v1::PlanRequest* request,
                                 v1::SessionInfo* reply) override;
  grpc::ServerUnaryReactor* Stop(grpc::CallbackServerContext* context, const v1::StopRequest* request,
                                 v1::StopReply* reply) override;
  grpc::ServerUnaryReactor* Get(grpc::CallbackServerContext* context, const v1::GetRequest* request,
                                v1::SessionInfo* reply) override;
  grpc::ServerUnaryReactor* Pause(grpc::CallbackServerContext* context, const v1::PauseRequest* request,
                                  v1::SessionInfo* reply) override;
  grpc::ServerUnaryReactor* Snapshot(grpc::CallbackServerContext* context, const v1::SnapshotRequest* request,
                                     v1::SessionInfo* reply) override;
  grpc::ServerUnaryReactor* Pin(grpc::CallbackServerContext* context, const v1::PinRequest* request,
                                v1::SessionInfo* reply) override;
  grpc::ServerUnaryReactor* Move(grpc::CallbackServerContext* context, const v1::MoveRequest* request,
                                 v1::SessionInfo* reply) override;
  grpc::ServerUnaryReactor* Remove(grpc::CallbackServerContext* context, const v1::RemoveRequest* request,
                                   v1::SessionInfo* reply) override;
  grpc::ServerWriteReactor<v1::FetchPiece>* Fetch(grpc::CallbackServerContext* context,
                                                  const v1::FetchRequest* request) override;
  grpc::ServerUnaryReactor* List(grpc::CallbackServerContext* context, const v1::ListRequest* request,
                                 v1::ListReply* reply) override;
  grpc::ServerWriteReactor<v1::SessionInfo>* Watch(grpc::CallbackServerContext* context,
                                                   const v1::WatchRequest* request) override;
  grpc::ServerWriteReactor<v1::LiveValues>* Live(grpc::CallbackServerContext* context,
                                                 const v1::LiveRequest* request) override;
  grpc::ServerUnaryReactor* Devices(grpc::CallbackServerContext* context, const v1::DevicesRequest* request,
                                    v1::DevicesReply* reply) override;
  grpc::ServerUnaryReactor* Targets(grpc::CallbackServerContext* context, const v1::TargetsRequest* request,
                                    v1::TargetsReply* reply) override;
  grpc::ServerUnaryReactor* AddLease(grpc::CallbackServerContext* context, const v1::AddLeaseRequest* request,
                                     v1::Lease* reply) override;
  grpc::ServerUnaryReactor* RemoveLease(grpc::CallbackServerContext* context,
                                        const v1::RemoveLeaseRequest* request, v1::Lease* reply) override;
  grpc::ServerUnaryReactor* ListLeases(grpc::CallbackServerContext* context,
                                       const v1::ListLeasesRequest* request,
                                       v1::ListLeasesReply* reply) override;
  grpc::ServerUnaryReactor* Doctor(grpc::CallbackServerContext* context, const v1::DoctorRequest* request,
                                   v1::DoctorReply* reply) override;

 private:
  // A call for the audit log, and what it costs (of limits.requests_per_s).
  struct Verb {
    const char* what;
    std::string on = {};
    double cost = 1;
  };
  template <typename Reply, typename Work>
  grpc::ServerUnaryReactor* OnCtl(grpc::CallbackServerContext* context, Verb verb, Reply* reply, Work work);

  // Recognises a stream's caller and begins or refuses `call`; `take` counts what it holds until its end.
  using Take = base::Result<auth::Limits::Held> (auth::Limits::*)(const auth::Caller&);
  template <typename Call, typename Request>
  Call* Begin(const std::shared_ptr<Call>& call, const grpc::CallbackServerContext& context, const Verb& verb,
              const Request& request, Take take = nullptr);
  // The directory that came through the door with the caller's ticket.
  base::Result<auth::PassedDir> TakeOutputDir(const grpc::CallbackServerContext& context);

  session::Manager& manager_;
  live::Live& live_;
  base::Executor& ctl_;
  auth::Tickets& tickets_;  // of what came through the door beside a ticket
  const Identity identity_;
  auth::Limits& limits_;
  auth::Audit& audit_;
  Once once_;
  // Shared: a call whose work never ran on ctl outlives the service.
  const std::shared_ptr<OpenCalls> open_ = std::make_shared<OpenCalls>();
};

}  // namespace profd::rpc
