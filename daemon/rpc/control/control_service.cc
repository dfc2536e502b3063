#include "daemon/rpc/control/control_service.h"

#include <algorithm>
#include <atomic>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

#include "base/clock.h"
#include "base/threads/thread.h"
#include "base/version.h"
#include "daemon/rpc/calls/call_status.h"
#include "daemon/rpc/calls/convert.h"
#include "daemon/rpc/calls/convert_jobs.h"
#include "daemon/rpc/calls/once.h"
#include "daemon/rpc/calls/open_calls.h"
#include "daemon/rpc/control/fetch_call.h"
#include "daemon/rpc/control/live_call.h"
#include "daemon/rpc/control/watch_call.h"
#include "profd/v1/control.grpc.pb.h"

namespace profd::rpc {

using base::Code;
using base::Status;

namespace {

constexpr uint64_t kMaxWaitNs = 24ull * 3600 * 1'000'000'000;
constexpr size_t kMaxOnceBytes = 64;
constexpr double kHeavy = 5;  // looks at processes, disks or the driver, with threads of its own

// For the audit log, which cuts and escapes it.
std::string OfSession(const std::string& session) { return "session " + session; }

template <typename List>
std::string Listed(const char* what, const List& items) {
  constexpr int kShown = 16;
  if (items.empty()) return "";
  std::string text = what;
  for (int i = 0; i < items.size() && i < kShown; ++i) {
    text += i == 0 ? " " : ",";
    if constexpr (std::is_same_v<List, google::protobuf::RepeatedPtrField<v1::KindRequest>>) {
      text += items[i].kind();
    } else {
      text += std::to_string(items[i]);
    }
  }
  return text + (items.size() > kShown ? ",… " : " ");
}

std::string DescribeSpec(const v1::SessionSpec& spec) {
  std::string text = Listed("pids", spec.pids()) + (spec.all_agents() ? "all agents " : "");
  text += (spec.all_devices() ? "all devices " : "") + Listed("devices", spec.devices());
  text += Listed("kinds", spec.kinds()) + (spec.preset().empty() ? "" : "preset " + spec.preset() + " ");
  return text + (spec.output().empty() ? "" : "output " + spec.output());
}

std::string DescribeStop(const v1::StopRequest& request) {
  if (request.all()) return "all";
  return request.pid() != 0 ? "pid " + std::to_string(request.pid()) : OfSession(request.session());
}

std::string DescribeLease(const v1::AddLeaseRequest& request) {
  return (request.all_devices() ? "all devices " : Listed("devices", request.devices())) + "to user " +
         request.user() + " for " + std::to_string(request.duration_ns() / 1'000'000'000) + " s";
}

// A call that is answered holds its answer's share of the limits until the client has taken it.
class Answered : public grpc::ServerUnaryReactor {
 public:
  // Before Finish().
  void Hold(auth::Limits::Held held) { held_ = std::move(held); }
  void OnDone() override { delete this; }

 private:
  auth::Limits::Held held_;
};

// The answer to a call that has done something is small, and it is given in any case.
template <typename Reply>
constexpr bool kTellsWhatWasDone = std::is_same_v<Reply, v1::SessionInfo> ||
                                   std::is_same_v<Reply, v1::StopReply> || std::is_same_v<Reply, v1::Lease>;

// The answer a unary call owes. Dropped unanswered (ctl stopped with it in its queue), it says that profd
// stops.
template <typename Reply>
class OwedReply : public OpenCall {
 public:
  using Note = std::function<void(const Status&, const Reply*)>;  // for the audit log

  OwedReply(std::shared_ptr<OpenCalls> open, auth::Limits& limits, auth::Caller caller, Answered* reactor,
            Reply* reply, Note note)
      : open_(std::move(open)),
        limits_(limits),
        caller_(std::move(caller)),
        reactor_(reactor),
        reply_(reply),
        note_(std::move(note)) {}
  ~OwedReply() override {
    Fail(Stopping());
    open_->Remove(this);
  }
  OwedReply(const OwedReply&) = delete;
  OwedReply& operator=(const OwedReply&) = delete;

  void Abort() override { Fail(Stopping()); }
  void Fail(const Status& status) {
    if (answered_.exchange(true)) return;
    note_(status, nullptr);
    reactor_->Finish(ToGrpc(status));
  }
  template <typename T>
  void Answer(const base::Result<T>& result) {
    if (!result.ok()) return Fail(result.status());
    if constexpr (!kTellsWhatWasDone<Reply>) {
      if (const Status room = limits_.CheckAnswer(caller_); !room.ok()) return Fail(room);
    }
    // Claimed first: gRPC frees the reply as soon as somebody else has finished the call.
    if (answered_.exchange(true)) return;
    if constexpr (std::is_same_v<T, Reply>) {
      *reply_ = *result;
    } else {
      Encode(*result, reply_);
    }
    note_(Status::Ok(), reply_);
    // gRPC keeps the message and its bytes.
    reactor_->Hold(limits_.KeepAnswer(caller_, reply_->SpaceUsedLong() + reply_->ByteSizeLong()));
    reactor_->Finish(grpc::Status::OK);
  }

 private:
  const std::shared_ptr<OpenCalls> open_;
  auth::Limits& limits_;
  const auth::Caller caller_;
  Answered* const reactor_;
  Reply* const reply_;
  const Note note_;
  std::atomic<bool> answered_{false};
};

}  // namespace

class ControlService::Calls : public v1::Control::CallbackService {
 public:
  Calls(session::Manager& manager, live::Live& live, base::Executor& ctl, auth::Tickets& tickets,
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
  grpc::ServerUnaryReactor* Jobs(grpc::CallbackServerContext* context, const v1::JobsRequest* request,
                                 v1::JobsReply* reply) override;
  grpc::ServerUnaryReactor* Targets(grpc::CallbackServerContext* context, const v1::TargetsRequest* request,
                                    v1::TargetsReply* reply) override;
  grpc::ServerUnaryReactor* AddLease(grpc::CallbackServerContext* context, const v1::AddLeaseRequest* request,
                                     v1::Lease* reply) override;
  grpc::ServerUnaryReactor* RemoveLease(grpc::CallbackServerContext* context,
                                        const v1::RemoveLeaseRequest* request, v1::Lease* reply) override;
  grpc::ServerUnaryReactor* ListLeases(grpc::CallbackServerContext* context,
                                       const v1::ListLeasesRequest* request,
                                       v1::ListLeasesReply* reply) override;
  grpc::ServerUnaryReactor* Stacks(grpc::CallbackServerContext* context, const v1::StacksRequest* request,
                                   v1::StacksReply* reply) override;
  grpc::ServerUnaryReactor* Doctor(grpc::CallbackServerContext* context, const v1::DoctorRequest* request,
                                   v1::DoctorReply* reply) override;
  grpc::ServerUnaryReactor* Tape(grpc::CallbackServerContext* context, const v1::TapeRequest* request,
                                 v1::TapeReply* reply) override;

 private:
  // A call for the audit log, and what it costs (of limits.requests_per_s).
  struct Verb {
    const char* what;
    std::string on = {};
    double cost = 1;
  };
  template <typename Reply, typename Work>
  grpc::ServerUnaryReactor* OnCtl(grpc::CallbackServerContext* context, const Verb& verb, Reply* reply,
                                  Work work);

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

template <typename Call, typename Request>
Call* ControlService::Calls::Begin(const std::shared_ptr<Call>& call,
                                   const grpc::CallbackServerContext& context, const Verb& verb,
                                   const Request& request, Take take) {
  base::Result<auth::Caller> caller = identity_.Of(context);
  Status may = caller.ok() ? limits_.TakeRequest(*caller, verb.cost) : caller.status();
  base::Result<auth::Limits::Held> held = auth::Limits::Held();
  if (may.ok() && take != nullptr) {
    held = (limits_.*take)(*caller);
    may = held.status();
  }
  audit_.Note(caller.ok() ? *caller : auth::Caller(), verb.what, verb.on, may);
  if (may.ok()) {
    call->Open(std::move(held).value(), identity_.RenewalOf(context, *caller));
    call->Begin(*caller, request);
  } else {
    call->Refuse(may);
  }
  return call.get();
}

// Recognises the caller and runs `work(caller, owed)` on ctl.
template <typename Reply, typename Work>
grpc::ServerUnaryReactor* ControlService::Calls::OnCtl(grpc::CallbackServerContext* context, const Verb& verb,
                                                       Reply* reply, Work work) {
  auto* reactor = new Answered;  // its own from here on
  base::Result<auth::Caller> caller = identity_.Of(*context);
  Status may = caller.ok() ? limits_.TakeRequest(*caller, verb.cost) : caller.status();
  if (may.ok()) may = limits_.CheckAnswer(*caller);
  if (may.ok() && verb.cost >= kHeavy) may = base::RoomForThreads();
  const auth::Caller who = caller.ok() ? *caller : auth::Caller();
  const auto note = [this, who, verb](const Status& status, [[maybe_unused]] const Reply* answer) {
    std::string on = verb.on;
    if constexpr (std::is_same_v<Reply, v1::SessionInfo>) {
      // A new one has its name only now.
      if (answer != nullptr && !answer->session().empty() &&
          on.find(answer->session()) == std::string::npos) {
        on = "session " + answer->session() + ": " + on;
      }
    }
    audit_.Note(who, verb.what, on, status);
  };
  const auto owed = std::make_shared<OwedReply<Reply>>(open_, limits_, who, reactor, reply, note);
  open_->Add(owed);
  if (!may.ok()) {
    owed->Fail(may);
    return reactor;
  }
  ctl_.Post([caller = std::move(caller).value(), owed, work = std::move(work)] { work(caller, owed); });
  return reactor;
}

grpc::ServerUnaryReactor* ControlService::Calls::Hello(grpc::CallbackServerContext* context,
                                                       const v1::HelloRequest* request,
                                                       v1::HelloReply* reply) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reply->set_protocol(base::kProtocolVersion);
  reply->set_profd_version(base::kVersion);
  reply->set_wall_ns(base::WallNs());
  if (const Status admitted = identity_.Admit(*context); !admitted.ok()) {
    reactor->Finish(ToGrpc(admitted));
    return reactor;
  }
  if (request->required_features_size() > 0) {
    reactor->Finish(
        ToGrpc({Code::kFailedPrecondition, std::string("profd ") + base::kVersion + " has no feature '" +
                                               request->required_features(0) + "' that the client (" +
                                               request->client_version() +
                                               ") requires: install the same release on both sides"}));
    return reactor;
  }
  reactor->Finish(grpc::Status::OK);
  return reactor;
}

base::Result<auth::PassedDir> ControlService::Calls::TakeOutputDir(
    const grpc::CallbackServerContext& context) {
  if (IsRemote(context)) {
    return Status{Code::kInvalidArgument,
                  "a directory can be given on the node itself only: leave it out and use profctl fetch"};
  }
  PROFD_ASSIGN_OR_RETURN(const std::string ticket, TicketOf(context, tickets_));
  return tickets_.TakeOutputDir(ticket);
}

grpc::ServerUnaryReactor* ControlService::Calls::Start(grpc::CallbackServerContext* context,
                                                       const v1::StartRequest* request,
                                                       v1::SessionInfo* reply) {
  base::Result<session::SessionSpec> spec = DecodeSpec(request->spec());
  if (spec.ok() && !spec->output.empty()) {
    base::Result<auth::PassedDir> output_dir = TakeOutputDir(*context);
    if (output_dir.ok()) {
      spec->output_dir = std::make_shared<auth::PassedDir>(std::move(output_dir).value());
    } else {
      spec = output_dir.status();
    }
  }
  if (spec.ok() && request->wait_ns() > 0) {
    spec->wait_ns = std::min<uint64_t>(request->wait_ns(), kMaxWaitNs);
    // Asked while the call is unanswered: it is there so long.
    spec->abandoned = [context] { return context->IsCancelled(); };
  }
  if (request->once().size() > kMaxOnceBytes)
    spec = Status(Code::kInvalidArgument, "once: longer than " + std::to_string(kMaxOnceBytes) + " bytes");
  return OnCtl(
      context, {"start", DescribeSpec(request->spec()), kHeavy}, reply,
      [this, spec, once = request->once()](const auth::Caller& caller, const auto& owed) {
        if (!spec.ok()) return owed->Fail(spec.status());
        const auto start = [&](const Once::Done& done) { manager_.Start(caller, *spec, done); };
        if (once.empty())
          return start([owed](const base::Result<session::SessionInfo>& info) { owed->Answer(info); });
        // Whoever repeats it may not be who asked first.
        once_.Start(
            once,
            [this, caller, owed](const base::Result<session::SessionInfo>& info) {
              owed->Answer(info.ok() ? manager_.Get(caller, info->id) : info);
            },
            start);
      });
}

grpc::ServerUnaryReactor* ControlService::Calls::Plan(grpc::CallbackServerContext* context,
                                                      const v1::PlanRequest* request,
                                                      v1::SessionInfo* reply) {
  base::Result<session::SessionSpec> spec = DecodeSpec(request->spec());
  if (spec.ok()) spec->plan_only = true;
  return OnCtl(context, {"plan", DescribeSpec(request->spec()), kHeavy}, reply,
               [this, spec](const auth::Caller& caller, const auto& owed) {
                 if (!spec.ok()) return owed->Fail(spec.status());
                 manager_.Start(caller, *spec, [owed](const base::Result<session::SessionInfo>& info) {
                   owed->Answer(info);
                 });
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::Stop(grpc::CallbackServerContext* context,
                                                      const v1::StopRequest* request, v1::StopReply* reply) {
  return OnCtl(context, {"stop", DescribeStop(*request)}, reply,
               [this, target = DecodeStop(*request)](const auth::Caller& caller, const auto& owed) {
                 if (!target.ok()) return owed->Fail(target.status());
                 manager_.Stop(caller, *target, [owed](const base::Result<session::Stopped>& result) {
                   owed->Answer(result);
                 });
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::Get(grpc::CallbackServerContext* context,
                                                     const v1::GetRequest* request, v1::SessionInfo* reply) {
  return OnCtl(context, {"status", OfSession(request->session())}, reply,
               [this, session = request->session()](const auth::Caller& caller, const auto& owed) {
                 owed->Answer(manager_.Get(caller, session));
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::Snapshot(grpc::CallbackServerContext* context,
                                                          const v1::SnapshotRequest* request,
                                                          v1::SessionInfo* reply) {
  return OnCtl(context, {"snapshot", OfSession(request->session())}, reply,
               [this, session = request->session(), newest_ns = request->last_ns()](
                   const auth::Caller& caller, const auto& owed) {
                 manager_.Snapshot(
                     caller, session, newest_ns,
                     [owed](const base::Result<session::SessionInfo>& info) { owed->Answer(info); });
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::Pause(grpc::CallbackServerContext* context,
                                                       const v1::PauseRequest* request,
                                                       v1::SessionInfo* reply) {
  return OnCtl(context, {request->paused() ? "pause" : "resume", OfSession(request->session())}, reply,
               [this, session = request->session(), paused = request->paused()](const auth::Caller& caller,
                                                                                const auto& owed) {
                 manager_.Pause(
                     caller, session, paused,
                     [owed](const base::Result<session::SessionInfo>& info) { owed->Answer(info); });
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::Pin(grpc::CallbackServerContext* context,
                                                     const v1::PinRequest* request, v1::SessionInfo* reply) {
  return OnCtl(context, {request->pinned() ? "pin" : "unpin", OfSession(request->session())}, reply,
               [this, session = request->session(), pinned = request->pinned()](const auth::Caller& caller,
                                                                                const auto& owed) {
                 manager_.Pin(caller, session, pinned,
                              [owed](const base::Result<session::SessionInfo>& info) { owed->Answer(info); });
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::Remove(grpc::CallbackServerContext* context,
                                                        const v1::RemoveRequest* request,
                                                        v1::SessionInfo* reply) {
  return OnCtl(context, {"rm", OfSession(request->session())}, reply,
               [this, session = request->session()](const auth::Caller& caller, const auto& owed) {
                 manager_.Remove(caller, session, [owed](const base::Result<session::SessionInfo>& info) {
                   owed->Answer(info);
                 });
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::Move(grpc::CallbackServerContext* context,
                                                      const v1::MoveRequest* request,
                                                      v1::SessionInfo* reply) {
  base::Result<auth::PassedDir> opened = TakeOutputDir(*context);
  const Status usable = opened.status();
  const auto to = std::make_shared<auth::PassedDir>();
  if (opened.ok()) *to = std::move(opened).value();
  return OnCtl(context, {"mv", OfSession(request->session()) + " to " + request->output(), kHeavy}, reply,
               [this, session = request->session(), output = request->output(), usable, to](
                   const auth::Caller& caller, const auto& owed) {
                 if (!usable.ok()) return owed->Fail(usable);
                 manager_.Move(
                     caller, session, output, to,
                     [owed](const base::Result<session::SessionInfo>& info) { owed->Answer(info); });
               });
}

grpc::ServerWriteReactor<v1::FetchPiece>* ControlService::Calls::Fetch(grpc::CallbackServerContext* context,
                                                                       const v1::FetchRequest* request) {
  return Begin(std::make_shared<FetchCall>(manager_, ctl_, limits_, open_), *context,
               {"fetch", OfSession(request->session())}, *request);
}

grpc::ServerUnaryReactor* ControlService::Calls::List(grpc::CallbackServerContext* context,
                                                      const v1::ListRequest* /*request*/,
                                                      v1::ListReply* reply) {
  return OnCtl(context, {"list"}, reply, [this](const auth::Caller& caller, const auto& owed) {
    owed->Answer(base::Result(manager_.List(caller)));
  });
}

grpc::ServerWriteReactor<v1::SessionInfo>* ControlService::Calls::Watch(grpc::CallbackServerContext* context,
                                                                        const v1::WatchRequest* request) {
  return Begin(std::make_shared<WatchCall>(manager_, ctl_, open_), *context,
               {"watch", OfSession(request->session())}, *request, &auth::Limits::TakeWatch);
}

grpc::ServerWriteReactor<v1::LiveValues>* ControlService::Calls::Live(grpc::CallbackServerContext* context,
                                                                      const v1::LiveRequest* request) {
  return Begin(std::make_shared<LiveCall>(live_, ctl_, open_), *context, {"live"}, *request,
               &auth::Limits::TakeWatch);
}

grpc::ServerUnaryReactor* ControlService::Calls::Devices(grpc::CallbackServerContext* context,
                                                         const v1::DevicesRequest* /*request*/,
                                                         v1::DevicesReply* reply) {
  return OnCtl(context, {"devices", "", kHeavy}, reply, [this](const auth::Caller& caller, const auto& owed) {
    manager_.Devices(caller,
                     [owed](const base::Result<session::NodeReport>& result) { owed->Answer(result); });
  });
}

grpc::ServerUnaryReactor* ControlService::Calls::Targets(grpc::CallbackServerContext* context,
                                                         const v1::TargetsRequest* /*request*/,
                                                         v1::TargetsReply* reply) {
  return OnCtl(context, {"targets", "", kHeavy}, reply, [this](const auth::Caller& caller, const auto& owed) {
    manager_.Targets(
        caller, [owed](const base::Result<std::vector<session::Target>>& targets) { owed->Answer(targets); });
  });
}

grpc::ServerUnaryReactor* ControlService::Calls::Jobs(grpc::CallbackServerContext* context,
                                                      const v1::JobsRequest* request, v1::JobsReply* reply) {
  return OnCtl(context, {"jobs", "", kHeavy}, reply,
               [this, request = *request](const auth::Caller& caller, const auto& owed) {
                 owed->Answer(VisibleJobs(live_.jobs(), request, caller));
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::Stacks(grpc::CallbackServerContext* context,
                                                        const v1::StacksRequest* request,
                                                        v1::StacksReply* reply) {
  return OnCtl(context, {"dump", "pid " + std::to_string(request->pid()), kHeavy}, reply,
               [this, pid = request->pid()](const auth::Caller& caller, const auto& owed) {
                 manager_.Stacks(caller, pid, [owed](const base::Result<session::ProcessStacks>& stacks) {
                   owed->Answer(stacks);
                 });
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::AddLease(grpc::CallbackServerContext* context,
                                                          const v1::AddLeaseRequest* request,
                                                          v1::Lease* reply) {
  return OnCtl(context, {"lease add", DescribeLease(*request)}, reply,
               [this, order = DecodeLease(*request)](const auth::Caller& caller, const auto& owed) {
                 if (!order.ok()) return owed->Fail(order.status());
                 manager_.AddLease(caller, order->lease, order->all_devices,
                                   [owed](const base::Result<auth::Lease>& lease) { owed->Answer(lease); });
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::RemoveLease(grpc::CallbackServerContext* context,
                                                             const v1::RemoveLeaseRequest* request,
                                                             v1::Lease* reply) {
  return OnCtl(context, {"lease rm", "lease " + request->lease()}, reply,
               [this, id = request->lease()](const auth::Caller& caller, const auto& owed) {
                 owed->Answer(manager_.RemoveLease(caller, id));
               });
}

grpc::ServerUnaryReactor* ControlService::Calls::ListLeases(grpc::CallbackServerContext* context,
                                                            const v1::ListLeasesRequest* /*request*/,
                                                            v1::ListLeasesReply* reply) {
  return OnCtl(context, {"lease list"}, reply, [this](const auth::Caller& caller, const auto& owed) {
    owed->Answer(base::Result(manager_.ListLeases(caller)));
  });
}

grpc::ServerUnaryReactor* ControlService::Calls::Doctor(grpc::CallbackServerContext* context,
                                                        const v1::DoctorRequest* request,
                                                        v1::DoctorReply* reply) {
  return OnCtl(
      context, {"doctor", request->pid() == 0 ? "" : "pid " + std::to_string(request->pid()), kHeavy}, reply,
      [this, pid = request->pid()](const auth::Caller& caller, const auto& owed) {
        manager_.Doctor(caller, pid, [owed](const base::Result<std::vector<session::Check>>& checks) {
          owed->Answer(checks);
        });
      });
}

grpc::ServerUnaryReactor* ControlService::Calls::Tape(grpc::CallbackServerContext* context,
                                                      const v1::TapeRequest* request, v1::TapeReply* reply) {
  return OnCtl(context, {"tape", Listed("devices", request->devices())}, reply,
               [this, order = DecodeTape(*request)](const auth::Caller& caller, const auto& owed) {
                 owed->Answer(manager_.Tape(caller, order));
               });
}

ControlService::ControlService(session::Manager& manager, live::Live& live, base::Executor& ctl,
                               auth::Tickets& tickets, Identity identity, auth::Limits& limits,
                               auth::Audit& audit)
    : calls_(std::make_unique<Calls>(manager, live, ctl, tickets, std::move(identity), limits, audit)) {}
ControlService::~ControlService() = default;
grpc::Service* ControlService::service() { return calls_.get(); }
size_t ControlService::AbortAll() { return calls_->AbortAll(); }

}  // namespace profd::rpc
