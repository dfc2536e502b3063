#include "daemon/session/manager.h"

#include <fcntl.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "daemon/agent/drain.h"
#include "daemon/agent/registry.h"
#include "daemon/base/executor.h"
#include "daemon/base/log.h"
#include "daemon/host/process.h"
#include "daemon/host/sampler.h"
#include "daemon/session/aside.h"
#include "daemon/session/book.h"
#include "daemon/session/disk_probe.h"
#include "daemon/session/doctor.h"
#include "daemon/session/leases.h"
#include "daemon/session/new_id.h"
#include "daemon/session/node.h"
#include "daemon/session/resumer.h"
#include "daemon/session/selection.h"
#include "daemon/session/session.h"
#include "daemon/session/spec_check.h"
#include "daemon/session/writers.h"
#include "daemon/store/spool.h"

namespace profd::session {

namespace {

// How often it is looked whether what others hold is free.
constexpr uint64_t kTryAgainNs = 500'000'000;

using auth::Action;
using auth::Caller;
using auth::May;
using base::Code;
using base::Result;
using base::Status;

// Devices that are named without a process of the caller's own: all of them or none.
Status MayCollect(const Caller& caller, const SessionSpec& spec) {
  if (!spec.pids.empty()) return Status::Ok();
  for (const uint32_t device : spec.devices) {
    PROFD_RETURN_IF_ERROR(May(caller, Action::kCollectDevice, {.device = device}));
  }
  return Status::Ok();
}

}  // namespace

class Manager::Impl {
 public:
  Impl(base::Executor& ctl, const config::Config& config, std::shared_ptr<driver::Driver> driver,
       std::string driver_error, agent::Registry& agents, auth::Rights& rights)
      : ctl_(ctl),
        config_(config),
        agents_(agents),
        rights_(rights),
        node_(ctl, config, std::move(driver), std::move(driver_error)),
        writers_(ctl, config),
        sampler_([this](std::function<void()> work) { ctl_.Post(std::move(work)); }),
        drain_({}, [this](std::function<void()> work) { ctl_.Post(std::move(work)); }),
        aside_(ctl),
        leases_(ctl, aside_, rights, config.store.spool, [this] { StopUnleased(); }),
        book_(ctl, aside_, config),
        resumer_(ctl, aside_, agents, config.store.spool),
        probe_(ctl, aside_) {
    // So that the first start finds the facts.
    ctl_.Post([this] { node_.WhenKnown([] {}); });
    // Before a session that goes on (--resume) is linked to what there is of it, and asks for its rights.
    leases_.Begin([this] {
      book_.Begin([this] { resumer_.Resume([this](ResumeRecord record) { Resume(std::move(record)); }); });
    });
  }

  void Start(const Caller& caller, SessionSpec spec, std::function<void(Result<SessionInfo>)> done);
  void Stop(const Caller& caller, const StopTarget& target,
            std::function<void(Result<std::vector<SessionInfo>>)> done);
  Book& book() { return book_; }
  void AddLease(const Caller& caller, auth::Lease lease, bool all_devices,
                std::function<void(Result<auth::Lease>)> done);
  Result<auth::Lease> RemoveLease(const Caller& caller, const std::string& id);
  std::vector<auth::Lease> ListLeases(const Caller& caller) const;
  void Save(int level);
  Node& node() { return node_; }
  host::Sampler& sampler() { return sampler_; }
  const Writers& writers() const { return writers_; }
  Status NotRunning(const Caller& caller, const std::string& session) const;
  void Snapshot(const Caller& caller, const std::string& named, uint64_t newest_ns,
                std::function<void(Result<SessionInfo>)> done);
  void Devices(const Caller& caller, std::function<void(Result<NodeReport>)> done);
  void Targets(const Caller& caller, std::function<void(std::vector<Target>)> done);
  void Doctor(const Caller& caller, pid_t pid, std::function<void(std::vector<Check>)> done);
  void Shutdown(std::function<void()> done);

 private:
  struct Request {
    Caller caller;
    SessionSpec spec;
    Plan plan;
    std::string target_name;
    std::string resumes;  // id of a session that goes on
    std::vector<std::string> directories;
    uint64_t wait_until_ns = 0;  // of the monotonic clock: how long it waits for what others hold
    std::function<void(Result<SessionInfo>)> done;
  };

  using Processes = std::vector<host::ProcessFacts>;  // of the targets

  Status CheckRoom(const Caller& caller) const;
  Result<NodeFacts> FactsFor(const Request& request, const Processes& processes) const;
  void Admit(std::shared_ptr<Request> request);
  void ReadProcesses(std::shared_ptr<Request> request);
  void PlanStart(std::shared_ptr<Request> request, const Processes& processes);
  void OpenOutput(std::shared_ptr<Request> request);
  void Launch(const std::shared_ptr<Request>& request, base::UniqueFd parent, std::string parent_path,
              base::UniqueFd move_to);
  void Refuse(const std::shared_ptr<Request>& request, const Status& status);
  void NameCollectors(const std::shared_ptr<Request>& request, const Status& status);
  void Remember(const std::shared_ptr<Session>& session);
  void Resume(ResumeRecord record);
  void StopUnleased();

  base::Executor& ctl_;
  const config::Config& config_;
  agent::Registry& agents_;
  auth::Rights& rights_;
  Node node_;
  Writers writers_;
  host::Sampler sampler_;
  agent::Drain drain_;
  Aside aside_;
  Leases leases_;
  Book book_;
  Resumer resumer_;
  DiskProbe probe_;
  std::deque<std::shared_ptr<Request>> waiting_;  // for what others hold
  uint32_t next_trace_ = 1;
  std::string saving_;  // what sessions go without at the moment, for their status
  bool shutting_down_ = false;
};

// For one more session.
Status Manager::Impl::CheckRoom(const Caller& caller) const {
  const auto his = static_cast<size_t>(
      std::count_if(book_.sessions().begin(), book_.sessions().end(),
                    [&](const auto& session) { return !session->ended() && session->uid() == caller.uid; }));
  const auto waits =
      static_cast<size_t>(std::count_if(waiting_.begin(), waiting_.end(), [&](const auto& request) {
        return request->caller.uid == caller.uid;
      }));
  if (!auth::IsAdmin(caller) && his + waits >= config_.limits.sessions_per_user) {
    return {Code::kResourceExhausted, "user " + caller.user + " has " + std::to_string(his + waits) +
                                          " open sessions, the most a user may have "
                                          "(limits.sessions_per_user); stop one first"};
  }
  const size_t open = book_.open();
  if (open >= config_.session.max_sessions) {
    return {Code::kResourceExhausted, std::to_string(open) +
                                          " sessions are open, the most this profd allows "
                                          "(session.max_sessions); stop one first"};
  }
  if (shutting_down_) return {Code::kUnavailable, "profd is stopping"};
  return Status::Ok();
}

Result<NodeFacts> Manager::Impl::FactsFor(const Request& request, const Processes& processes) const {
  const Caller& caller = request.caller;
  NodeFacts facts = node_.Facts();
  const Status device_kinds = May(caller, Action::kCollectDevice);
  facts.device_kinds_allowed = device_kinds.ok();
  facts.device_kinds_denied_reason = device_kinds.message();
  facts.leased_devices = caller.leased;
  facts.host_kinds_denied_reason = May(caller, Action::kCollectHost).message();
  for (const host::ProcessFacts& process : processes) {
    if (process.exists && !process.is_thread) {
      PROFD_RETURN_IF_ERROR(May(caller, Action::kCollectProcess, {.owner = process.uid}));
    }
    ProcessFacts entry;
    entry.pid = process.pid;
    entry.uid = process.uid;
    entry.name = process.comm;
    entry.exists = process.exists;
    entry.is_thread = process.is_thread;
    entry.open_devices = process.open_devices;
    if (const auto peer = agents_.Find(process.pid)) entry.agent = AgentFactsOf(*peer);
    facts.processes.push_back(std::move(entry));
  }
  return facts;
}

void Manager::Impl::Start(const Caller& caller, SessionSpec spec,
                          std::function<void(Result<SessionInfo>)> done) {
  auto request = std::make_shared<Request>();
  request->caller = caller;
  request->done = std::move(done);
  if (spec.wait_ns > 0) request->wait_until_ns = base::MonotonicNs() + spec.wait_ns;
  const auto selected = SelectAgents(agents_, caller, spec);
  if (!selected.ok()) {
    request->done(selected.status());
    return;
  }
  spec.pids.insert(spec.pids.end(), selected->begin(), selected->end());
  request->spec = std::move(spec);
  Admit(std::move(request));
}

void Manager::Impl::Admit(std::shared_ptr<Request> request) {
  Status status = CheckSpec(request->spec, config_);
  if (status.ok()) status = MayCollect(request->caller, request->spec);
  if (status.ok()) status = CheckRoom(request->caller);
  if (!status.ok()) {
    Refuse(request, status);
    return;
  }
  node_.WhenKnown([this, request] { ReadProcesses(request); });
}

// A process may have as many descriptors as it likes, which takes as long to look at.
void Manager::Impl::ReadProcesses(std::shared_ptr<Request> request) {
  if (request->spec.pids.empty()) {
    PlanStart(std::move(request), {});
    return;
  }
  aside_.Run([this, request, pids = request->spec.pids]() -> std::function<void()> {
    auto processes = std::make_shared<Processes>();
    for (const pid_t pid : pids) processes->push_back(host::ReadProcessFacts(pid));
    return [this, request, processes] { PlanStart(request, *processes); };
  });
}

void Manager::Impl::PlanStart(std::shared_ptr<Request> request, const Processes& processes) {
  auto facts = FactsFor(*request, processes);
  if (!facts.ok()) {
    request->done(facts.status());
    return;
  }
  auto plan = MakePlan(request->spec, *facts);
  if (plan.ok() && request->wait_until_ns != 0 && !plan->held.empty())
    plan = Status(Code::kAborted, plan->held);
  if (!plan.ok()) {
    Refuse(request, plan.status());
    return;
  }
  request->plan = std::move(plan).value();
  if (!facts->processes.empty()) request->target_name = facts->processes.front().name;
  OpenOutput(std::move(request));
}

void Manager::Impl::OpenOutput(std::shared_ptr<Request> request) {
  aside_.Run([this, request, spool = config_.store.spool, spool_first = config_.store.spool_first] {
    const Caller& caller = request->caller;
    struct Opened {
      std::string path;
      Status status;
      base::UniqueFd parent;
      base::UniqueFd move_to;
    };
    auto opened = std::make_shared<Opened>();
    if (const auto& passed = request->spec.output_dir; passed != nullptr) {
      opened->status = store::CheckOutputDir(passed->get());
      // The request may come here again.
      base::UniqueFd& own = spool_first ? opened->move_to : opened->parent;
      own.Reset(::fcntl(passed->get(), F_DUPFD_CLOEXEC, 0));
      if (!own) opened->status = Status::FromErrno("keep the output directory open");
      opened->path = request->spec.output;
    }
    if (opened->status.ok() && !opened->parent) {
      auto parent = store::OpenSpoolFor(spool, caller.uid, caller.gid, caller.user);
      opened->status = parent.status();
      if (parent.ok()) opened->parent = std::move(parent).value();
      opened->path = spool + "/" + caller.user;
    }
    return [this, request, opened] {
      if (!opened->status.ok()) {
        request->done(opened->status);
        return;
      }
      Launch(request, std::move(opened->parent), opened->path, std::move(opened->move_to));
    };
  });
}

void Manager::Impl::Launch(const std::shared_ptr<Request>& request, base::UniqueFd parent,
                           std::string parent_path, base::UniqueFd move_to) {
  Session::Setup setup;
  setup.id = request->resumes.empty() ? NewId() : request->resumes;
  setup.directories = request->directories;
  setup.owner = request->caller;
  setup.spec = request->spec;
  setup.spec.output_dir.reset();
  setup.plan = std::move(request->plan);
  setup.parent = std::move(parent);
  setup.parent_path = std::move(parent_path);
  setup.target_name = request->target_name;
  setup.next_trace_id = [this] { return next_trace_++; };
  setup.move_to = std::move(move_to);
  book_.Bind(setup);
  auto session = std::make_shared<Session>(
      Services{ctl_, config_, node_, writers_, sampler_, agents_, drain_}, std::move(setup));
  book_.Add(session);
  session->NoteSaving(saving_);
  session->Start([this, session, request](const Result<SessionInfo>& result) {
    if (!result.ok()) {
      // The caller has the reason, there is nothing to look at later.
      book_.Erase(session);
      Refuse(request, result.status());
      return;
    }
    if (session->spec().resume) Remember(session);
    probe_.Ask(session);
    request->done(result);
  });
}

// What others hold may be free the next time, if the caller waits for it.
void Manager::Impl::Refuse(const std::shared_ptr<Request>& request, const Status& status) {
  const bool gone = request->spec.abandoned && request->spec.abandoned();
  const bool waits =
      IsHeld(status.code()) && !gone && !shutting_down_ && base::MonotonicNs() < request->wait_until_ns;
  if (shutting_down_ && request->wait_until_ns != 0) {
    request->done(Status{Code::kUnavailable, "profd is stopping"});
    return;
  }
  if (!waits) {
    if (status.code() == Code::kAborted) {
      NameCollectors(request, status);
    } else {
      request->done(status);
    }
    return;
  }
  waiting_.push_back(request);
  ctl_.After(kTryAgainNs, [this, request] {
    // Shutdown() has answered it else.
    if (std::erase(waiting_, request) == 0) return;
    rights_.GrantLeases(request->caller);
    Admit(request);
  });
}

// The driver only says that somebody has the channel.
void Manager::Impl::NameCollectors(const std::shared_ptr<Request>& request, const Status& status) {
  aside_.Run([request, status]() -> std::function<void()> {
    const std::string others = OtherCollectors(request->caller);
    const std::string more = others.empty() ? "" : "; other collectors on this node: " + others;
    return [request, status, more] { request->done(Status(status.code(), status.message() + more)); };
  });
}

void Manager::Impl::Remember(const std::shared_ptr<Session>& session) {
  resumer_.Remember(MakeResume(session->Info(), session->owner(), session->spec()));
  session->WhenEnded([this](const SessionInfo& info) {
    if (info.end_reason != EndReason::kDaemonStop) resumer_.Forget(info.id);
  });
}

// As if its owner had started it again.
void Manager::Impl::Resume(ResumeRecord record) {
  auto request = std::make_shared<Request>();
  request->caller = record.owner;
  rights_.GrantLeases(request->caller);
  request->resumes = record.session;
  request->directories = std::move(record.directories);
  request->spec = std::move(record.spec);
  request->done = [this, id = record.session](const Result<SessionInfo>& result) {
    if (result.ok()) {
      book_.ForgetPast(id);
      base::LogInfo("session " + id + " goes on");
    } else {
      base::LogWarn("session " + id + " does not go on: " + result.status().message());
      resumer_.Forget(id);
    }
  };
  Admit(std::move(request));
}

void Manager::Impl::AddLease(const Caller& caller, auth::Lease lease, bool all_devices,
                             std::function<void(Result<auth::Lease>)> done) {
  if (const Status may = May(caller, Action::kLease); !may.ok()) {
    done(may);
    return;
  }
  lease.given_by = caller.user;
  node_.WhenKnown([this, lease = std::move(lease), all_devices, done = std::move(done)]() mutable {
    if (all_devices) {
      for (const driver::DeviceFacts& device : node_.devices()) lease.devices.push_back(device.id);
    }
    for (const uint32_t device : lease.devices) {
      if (node_.Find(device) != nullptr) continue;
      done(Status(Code::kNotFound,
                  "device " + std::to_string(device) + " does not exist; profctl devices shows them"));
      return;
    }
    if (lease.devices.empty()) {
      done(Status(Code::kNotFound, "this node has no device to lease"));
      return;
    }
    done(leases_.Add(std::move(lease)));
  });
}

Result<auth::Lease> Manager::Impl::RemoveLease(const Caller& caller, const std::string& id) {
  PROFD_RETURN_IF_ERROR(May(caller, Action::kLease));
  return leases_.Remove(id);
}

std::vector<auth::Lease> Manager::Impl::ListLeases(const Caller& caller) const {
  std::vector<auth::Lease> seen;
  for (const auth::Lease& lease : leases_.all()) {
    if (lease.uid == caller.uid || May(caller, Action::kLease).ok()) seen.push_back(lease);
  }
  return seen;
}

// Sessions on devices that their owners may not collect any more.
void Manager::Impl::StopUnleased() {
  for (const auto& session : std::deque(book_.sessions())) {
    if (session->ended()) continue;
    Caller owner = session->owner();
    rights_.GrantLeases(owner);
    const std::vector<uint32_t> devices = session->Info().devices;
    const bool may = std::all_of(devices.begin(), devices.end(), [&](uint32_t device) {
      return May(owner, Action::kCollectDevice, {.device = device}).ok();
    });
    if (!may) session->Stop(EndReason::kLease, nullptr);
  }
}

void Manager::Impl::Stop(const Caller& caller, const StopTarget& target,
                         std::function<void(Result<std::vector<SessionInfo>>)> done) {
  std::vector<std::shared_ptr<Session>> chosen;
  Status refused;
  const std::string id = target.session.empty() ? "" : book_.IdOf(caller, target.session);
  for (const auto& session : book_.sessions()) {
    // What one may not see is not there.
    if (!May(caller, Action::kSeeSession, {.owner = session->uid()}).ok()) continue;
    if (session->ended()) {
      continue;
    }
    const bool wanted = target.all || (!id.empty() && session->id() == id) ||
                        (target.pid != 0 && session->Targets(target.pid));
    if (!wanted) continue;
    if (const Status may = May(caller, Action::kStopSession, {.owner = session->uid()}); !may.ok()) {
      if (!target.all) refused = may;
      continue;
    }
    chosen.push_back(session);
  }
  if (chosen.empty()) {
    if (!refused.ok()) {
      done(refused);
    } else if (target.all) {
      done(std::vector<SessionInfo>{});
    } else if (target.pid != 0) {
      done(Status{Code::kNotFound,
                  "no running session has pid " + std::to_string(target.pid) + " as its target"});
    } else {
      done(NotRunning(caller, target.session));
    }
    return;
  }
  struct Waiting {
    size_t left;
    std::vector<SessionInfo> infos;
  };
  auto waiting = std::make_shared<Waiting>(Waiting{chosen.size(), {}});
  for (const auto& session : chosen) {
    session->Stop(EndReason::kStopped, [waiting, done](SessionInfo info) {
      waiting->infos.push_back(std::move(info));
      if (--waiting->left == 0) done(std::move(waiting->infos));
    });
  }
}

// Why a session that was to run cannot be had.
Status Manager::Impl::NotRunning(const Caller& caller, const std::string& session) const {
  PROFD_ASSIGN_OR_RETURN(const SessionInfo info, book_.Get(caller, session));
  return {Code::kFailedPrecondition,
          "session " + session + " has ended already (" + EndReasonName(info.end_reason) + ")"};
}

void Manager::Impl::Snapshot(const Caller& caller, const std::string& named, uint64_t newest_ns,
                             std::function<void(Result<SessionInfo>)> done) {
  const std::string id = book_.IdOf(caller, named);
  for (const auto& session : book_.sessions()) {
    if (session->id() != id || session->ended()) continue;
    if (!May(caller, Action::kSeeSession, {.owner = session->uid()}).ok()) continue;
    const Status may = May(caller, Action::kStopSession, {.owner = session->uid()});
    if (may.ok()) {
      session->Snapshot(newest_ns, std::move(done));
    } else {
      done(may);
    }
    return;
  }
  done(NotRunning(caller, named));
}

void Manager::Impl::Devices(const Caller& caller, std::function<void(Result<NodeReport>)> done) {
  if (const Status may = May(caller, Action::kSeeNode); !may.ok()) {
    done(may);
    return;
  }
  node_.Refresh([this, done = std::move(done)] { done(ReportOf(node_)); });
}

void Manager::Impl::Targets(const Caller& caller, std::function<void(std::vector<Target>)> done) {
  auto registered = std::make_shared<std::vector<Target>>();
  for (const auto& peer : agents_.All()) registered->push_back(TargetOf(*peer));
  aside_.Run([caller, registered, done = std::move(done)] {
    auto targets = std::make_shared<std::vector<Target>>(FindTargets(caller, std::move(*registered)));
    return [targets, done] { done(std::move(*targets)); };
  });
}

void Manager::Impl::Doctor(const Caller& caller, pid_t pid, std::function<void(std::vector<Check>)> done) {
  node_.Refresh([this, caller, pid, done = std::move(done)] {
    auto checks = std::make_shared<std::vector<Check>>(CheckLibrary(node_));
    checks->push_back(CheckRights(caller));
    checks->push_back(CheckAgents(agents_.Count()));
    std::optional<Target> registered;
    if (const auto peer = agents_.Find(pid)) registered = TargetOf(*peer);
    aside_.Run([checks, done, caller, pid, registered, socket = config_.socket, spool = config_.store.spool] {
      if (pid != 0) {
        const std::vector<Check> chain = CheckProcess(caller, pid, socket, registered);
        checks->insert(checks->end(), chain.begin(), chain.end());
      }
      checks->push_back(CheckCollectors(caller));
      checks->push_back(CheckSpool(spool));
      return [checks, done] { done(std::move(*checks)); };
    });
  });
}

void Manager::Impl::Save(int level) {
  constexpr uint32_t kOneIn[] = {1, 1, 1, 4, 16};
  sampler_.Thin(kOneIn[std::clamp(level, 0, 4)]);
  saving_ = level < 3 ? ""
                      : "profd takes more than its limits: of the host kinds it leaves out samples, "
                        "which count as lost";
  for (const auto& session : book_.sessions()) session->NoteSaving(saving_);
}

void Manager::Impl::Shutdown(std::function<void()> done) {
  shutting_down_ = true;
  for (const auto& request : std::exchange(waiting_, {})) {
    request->done(Status{Code::kUnavailable, "profd is stopping"});
  }
  auto left = std::make_shared<size_t>(1);
  const auto one_done = [left, done = std::move(done)] {
    if (--*left == 0) done();
  };
  for (const auto& session : std::deque(book_.sessions())) {
    if (session->ended()) continue;
    ++*left;
    session->Stop(EndReason::kDaemonStop, [one_done](const SessionInfo&) { one_done(); });
  }
  one_done();
}

Manager::Manager(base::Executor& ctl, const config::Config& config, std::shared_ptr<driver::Driver> driver,
                 std::string driver_error, agent::Registry& agents, auth::Rights& rights)
    : impl_(std::make_unique<Impl>(ctl, config, std::move(driver), std::move(driver_error), agents, rights)) {
}
Manager::~Manager() = default;

void Manager::Start(const Caller& caller, SessionSpec spec, std::function<void(Result<SessionInfo>)> done) {
  impl_->Start(caller, std::move(spec), std::move(done));
}
void Manager::Stop(const Caller& caller, StopTarget target,
                   std::function<void(Result<std::vector<SessionInfo>>)> done) {
  impl_->Stop(caller, target, std::move(done));
}
Result<SessionInfo> Manager::Get(const Caller& caller, const std::string& session) {
  return impl_->book().Get(caller, session);
}
std::vector<SessionInfo> Manager::List(const Caller& caller) { return impl_->book().List(caller); }
void Manager::Pin(const Caller& caller, const std::string& session, bool pinned,
                  std::function<void(Result<SessionInfo>)> done) {
  impl_->book().Pin(caller, session, pinned, std::move(done));
}
void Manager::Remove(const Caller& caller, const std::string& session,
                     std::function<void(Result<SessionInfo>)> done) {
  impl_->book().Remove(caller, session, std::move(done));
}
Result<StoredTrace> Manager::Locate(const Caller& caller, const std::string& session,
                                    const std::string& directory) {
  return impl_->book().Locate(caller, session, directory);
}
void Manager::Move(const Caller& caller, const std::string& session, const std::string& output,
                   std::shared_ptr<base::UniqueFd> to, std::function<void(Result<SessionInfo>)> done) {
  impl_->book().Move(caller, session, output, std::move(to), std::move(done));
}
void Manager::Devices(const Caller& caller, std::function<void(Result<NodeReport>)> done) {
  impl_->Devices(caller, std::move(done));
}
void Manager::Snapshot(const Caller& caller, const std::string& session, uint64_t newest_ns,
                       std::function<void(Result<SessionInfo>)> done) {
  impl_->Snapshot(caller, session, newest_ns, std::move(done));
}
void Manager::Targets(const Caller& caller, std::function<void(std::vector<Target>)> done) {
  impl_->Targets(caller, std::move(done));
}
void Manager::Doctor(const Caller& caller, pid_t pid, std::function<void(std::vector<Check>)> done) {
  impl_->Doctor(caller, pid, std::move(done));
}
void Manager::AddLease(const Caller& caller, auth::Lease lease, bool all_devices,
                       std::function<void(Result<auth::Lease>)> done) {
  impl_->AddLease(caller, std::move(lease), all_devices, std::move(done));
}
Result<auth::Lease> Manager::RemoveLease(const Caller& caller, const std::string& id) {
  return impl_->RemoveLease(caller, id);
}
std::vector<auth::Lease> Manager::ListLeases(const Caller& caller) { return impl_->ListLeases(caller); }
Node& Manager::node() { return impl_->node(); }
host::Sampler& Manager::sampler() { return impl_->sampler(); }
std::vector<SessionInfo> Manager::OpenAnd(const std::function<bool(const std::string&)>& also) const {
  std::vector<SessionInfo> infos;
  for (const auto& session : impl_->book().sessions()) {
    if (!session->ended() || also(session->id())) infos.push_back(session->Info());
  }
  return infos;
}
std::vector<QueueLoad> Manager::QueueLoads() const { return impl_->writers().Loads(); }
void Manager::Save(int level) { impl_->Save(level); }
void Manager::Shutdown(std::function<void()> done) { impl_->Shutdown(std::move(done)); }

}  // namespace profd::session
