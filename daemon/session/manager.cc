#include "daemon/session/manager.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "daemon/agent/drain.h"
#include "daemon/agent/registry.h"
#include "daemon/base/aside.h"
#include "daemon/base/executor.h"
#include "daemon/base/log.h"
#include "daemon/fabric/door.h"
#include "daemon/host/sampler.h"
#include "daemon/session/book.h"
#include "daemon/session/history/resumer.h"
#include "daemon/session/leases.h"
#include "daemon/session/life/recordings/writers.h"
#include "daemon/session/life/session.h"
#include "daemon/session/node/doctor.h"
#include "daemon/session/node/node.h"
#include "daemon/session/starter.h"

namespace profd::session {

namespace {

using auth::Action;
using auth::Caller;
using auth::May;
using base::Code;
using base::Result;
using base::Status;

// On a node that is too busy an answer comes late; whoever asked knows how long he waits.
constexpr uint64_t kLookPatienceNs = 60'000'000'000;

}  // namespace

class Manager::Impl {
 public:
  Impl(base::Executor& ctl, base::Timers& timers, const config::Config& config,
       std::shared_ptr<driver::Driver> driver, std::string driver_error, agent::Registry& agents,
       auth::Rights& rights, fabric::Service& fabric)
      : ctl_(ctl),
        config_(config),
        agents_(agents),
        rights_(rights),
        fabric_(fabric),
        node_(ctl, config, std::move(driver), std::move(driver_error)),
        taping_(timers),
        writers_(ctl, timers, config),
        sampler_([this](std::function<void()> work) { ctl_.Post(std::move(work)); }),
        drain_({}, [this](std::function<void()> work) { ctl_.Post(std::move(work)); }),
        aside_(ctl),
        leases_(timers, aside_, rights, config.store.spool, [this] { StopUnleased(); }),
        book_(ctl, timers, aside_, config),
        resumer_(timers, aside_, agents, config.store.spool),
        starter_({ctl, timers, config, node_, writers_, sampler_, agents, drain_, aside_, fabric.clients()},
                 rights, aside_, book_, resumer_) {
    // So that the first start finds the facts.
    ctl_.Post([this] { node_.WhenKnown([] {}); });
    // A session that goes on (--resume) asks for its rights. It waits for profd's own notes only, never for
    // what is in users' folders.
    leases_.Begin([this] {
      resumer_.Resume([this](ResumeRecord record) { starter_.Resume(std::move(record)); });
      book_.Begin();
    });
  }

  Starter& starter() { return starter_; }
  void Stop(const Caller& caller, const StopTarget& target, const std::function<void(Result<Stopped>)>& done);
  Book& book() { return book_; }
  void AddLease(const Caller& caller, auth::Lease lease, bool all_devices,
                std::function<void(Result<auth::Lease>)> done);
  Result<auth::Lease> RemoveLease(const Caller& caller, const std::string& id);
  std::vector<auth::Lease> ListLeases(const Caller& caller) const;
  void Save(int level);
  Node& node() { return node_; }
  Result<Taped> Tape(const Caller& caller, const TapeOrder& order) {
    return taping_.Do(caller, order, node_.shared_driver());
  }
  host::Sampler& sampler() { return sampler_; }
  const Writers& writers() const { return writers_; }
  Status NotRunning(const Caller& caller, const std::string& session) const;
  void Move(const Caller& caller, const std::string& session, const std::string& output,
            const std::shared_ptr<auth::PassedDir>& to, const std::function<void(Result<SessionInfo>)>& done);
  // The running session of that name, for a caller who may stop it.
  Result<std::shared_ptr<Session>> FindRunning(const Caller& caller, const std::string& named) const;
  template <typename Found, typename Work>
  void Look(const Caller& caller, std::function<void(Result<Found>)> done, Work work);
  void Devices(const Caller& caller, std::function<void(Result<NodeReport>)> done);
  void Targets(const Caller& caller, std::function<void(Result<std::vector<Target>>)> done);
  void Stacks(const Caller& caller, pid_t pid, std::function<void(Result<ProcessStacks>)> done);
  void Doctor(const Caller& caller, pid_t pid, std::function<void(Result<std::vector<Check>>)> done);
  void Shutdown(std::function<void()> done);

 private:
  void StopUnleased();
  void AnswerEnded(const Caller& caller, const std::string& session,
                   const std::function<void(Result<Stopped>)>& done) const;

  base::Executor& ctl_;
  const config::Config& config_;
  agent::Registry& agents_;
  auth::Rights& rights_;
  fabric::Service& fabric_;
  Node node_;
  Taping taping_;
  Writers writers_;
  host::Sampler sampler_;
  agent::Drain drain_;
  base::Aside aside_;
  Leases leases_;
  Book book_;
  Resumer resumer_;
  Starter starter_;
};

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
                         const std::function<void(Result<Stopped>)>& done) {
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
      done(Stopped{});
    } else if (target.pid != 0) {
      done(Status{Code::kNotFound,
                  "no running session has pid " + std::to_string(target.pid) + " as its target"});
    } else {
      AnswerEnded(caller, target.session, done);
    }
    return;
  }
  struct Waiting {
    size_t left;
    Stopped answer;
  };
  auto waiting = std::make_shared<Waiting>(Waiting{chosen.size(), {}});
  for (const auto& session : chosen) {
    session->Stop(EndReason::kStopped, [waiting, done](SessionInfo info) {
      waiting->answer.sessions.push_back(std::move(info));
      if (--waiting->left == 0) done(std::move(waiting->answer));
    });
  }
}

// To stop what has ended by itself is no mistake: nobody can know when it does.
void Manager::Impl::AnswerEnded(const Caller& caller, const std::string& session,
                                const std::function<void(Result<Stopped>)>& done) const {
  Result<SessionInfo> info = book_.Get(caller, session);
  Status may = info.status();
  if (may.ok()) may = May(caller, Action::kStopSession, {.owner = info->uid});
  if (may.ok()) {
    done(Stopped{.sessions = {std::move(info).value()}, .had_ended = true});
  } else {
    done(may);
  }
}

// Why a session that was to run cannot be had.
Status Manager::Impl::NotRunning(const Caller& caller, const std::string& session) const {
  PROFD_ASSIGN_OR_RETURN(const SessionInfo info, book_.Get(caller, session));
  return {Code::kFailedPrecondition,
          "session " + session + " has ended already (" + EndReasonName(info.end_reason) + ")"};
}

Result<std::shared_ptr<Session>> Manager::Impl::FindRunning(const Caller& caller,
                                                            const std::string& named) const {
  const std::string id = book_.IdOf(caller, named);
  for (const auto& session : book_.sessions()) {
    if (session->id() != id || session->ended()) continue;
    if (!May(caller, Action::kSeeSession, {.owner = session->uid()}).ok()) continue;
    PROFD_RETURN_IF_ERROR(May(caller, Action::kStopSession, {.owner = session->uid()}));
    return session;
  }
  return NotRunning(caller, named);
}

void Manager::Impl::Move(const Caller& caller, const std::string& session, const std::string& output,
                         const std::shared_ptr<auth::PassedDir>& to,
                         const std::function<void(Result<SessionInfo>)>& done) {
  aside_.RunFor(
      caller.uid,
      [this, caller, session, output, to, done]() -> std::function<void()> {
        const Status usable = auth::ProbeOutputDir(to->fd.get(), to->sender);
        return [this, caller, session, output, to, done, usable] {
          if (!usable.ok()) return done(usable);
          book_.Move(caller, session, output, std::make_shared<base::UniqueFd>(std::move(to->fd)), done);
        };
      },
      [done](const Status& status) { done(status); });
}

// Looks at the node, aside. Of each user only a few do so at once, however many calls he makes: each costs
// profd a thread, and time of the processor.
template <typename Found, typename Work>
void Manager::Impl::Look(const Caller& caller, std::function<void(Result<Found>)> done, Work work) {
  aside_.RunFor(
      caller.uid,
      [work = std::move(work), done]() mutable -> std::function<void()> {
        auto found = std::make_shared<Result<Found>>(work());
        return [found, done = std::move(done)] { done(std::move(*found)); };
      },
      [done, user = caller.user](const Status& status) {
        if (status.code() != Code::kDeadlineExceeded) return done(status);
        done(Status(Code::kDeadlineExceeded,
                    "no answer in time: this node is busy, or with what user " + user + " asked before"));
      },
      kLookPatienceNs);
}

void Manager::Impl::Devices(const Caller& caller, std::function<void(Result<NodeReport>)> done) {
  if (const Status may = May(caller, Action::kSeeNode); !may.ok()) {
    done(may);
    return;
  }
  node_.Refresh([this, caller, done = std::move(done)] {
    Look<NodeReport>(caller, done, [report = std::make_shared<NodeReport>(ReportOf(node_))] {
      CheckOffers(report->host_kinds);
      return std::move(*report);
    });
  });
}

void Manager::Impl::Targets(const Caller& caller, std::function<void(Result<std::vector<Target>>)> done) {
  auto registered = std::make_shared<std::vector<Target>>();
  for (const auto& peer : agents_.All()) registered->push_back(TargetOf(*peer, node_.devices()));
  Look<std::vector<Target>>(caller, std::move(done), [caller, registered, clients = fabric_.clients().All()] {
    return FindTargets(caller, std::move(*registered), clients);
  });
}

void Manager::Impl::Stacks(const Caller& caller, pid_t pid, std::function<void(Result<ProcessStacks>)> done) {
  Look<ProcessStacks>(caller, std::move(done), [caller, pid] { return StacksOf(caller, pid); });
}

void Manager::Impl::Doctor(const Caller& caller, pid_t pid,
                           std::function<void(Result<std::vector<Check>>)> done) {
  node_.Refresh([this, caller, pid, done = std::move(done)] {
    auto checks = std::make_shared<std::vector<Check>>(CheckOwn(node_, caller, agents_.Count(), fabric_));
    std::optional<Target> registered;
    if (const auto peer = agents_.Find(pid)) registered = TargetOf(*peer, node_.devices());
    Look<std::vector<Check>>(caller, done, [checks, caller, pid, registered, config = config_] {
      if (pid != 0) {
        const std::vector<Check> chain = CheckProcess(caller, pid, config.socket, registered);
        checks->insert(checks->end(), chain.begin(), chain.end());
      }
      const std::vector<Check> machine = CheckMachine(caller, config);
      checks->insert(checks->end(), machine.begin(), machine.end());
      return std::move(*checks);
    });
  });
}

void Manager::Impl::Save(int level) {
  constexpr uint32_t kOneIn[] = {1, 1, 1, 4, 16};
  sampler_.Thin(kOneIn[std::clamp(level, 0, 4)]);
  const std::string saving = level < 3 ? ""
                                       : "profd is above its limits (limits.cpu_percent, limits.rss_mb): it "
                                         "leaves out host samples, which count as lost";
  starter_.NoteSaving(saving);
  for (const auto& session : book_.sessions()) session->NoteSaving(saving);
}

void Manager::Impl::Shutdown(std::function<void()> done) {
  starter_.Shutdown();
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

Manager::Manager(base::Executor& ctl, base::Timers& timers, const config::Config& config,
                 std::shared_ptr<driver::Driver> driver, std::string driver_error, agent::Registry& agents,
                 auth::Rights& rights, fabric::Service& fabric)
    : impl_(std::make_unique<Impl>(ctl, timers, config, std::move(driver), std::move(driver_error), agents,
                                   rights, fabric)) {}
Manager::~Manager() = default;

void Manager::Start(const Caller& caller, SessionSpec spec, std::function<void(Result<SessionInfo>)> done) {
  impl_->starter().Start(caller, std::move(spec), std::move(done));
}
// What is called back is given away, here as everywhere.
// NOLINTBEGIN(performance-unnecessary-value-param)
void Manager::Stop(const Caller& caller, const StopTarget& target,
                   std::function<void(Result<Stopped>)> done) {
  impl_->Stop(caller, target, done);
}
// NOLINTEND(performance-unnecessary-value-param)
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
// NOLINTBEGIN(performance-unnecessary-value-param)
void Manager::Move(const Caller& caller, const std::string& session, const std::string& output,
                   std::shared_ptr<auth::PassedDir> to, std::function<void(Result<SessionInfo>)> done) {
  impl_->Move(caller, session, output, to, done);
}
// NOLINTEND(performance-unnecessary-value-param)
void Manager::Devices(const Caller& caller, std::function<void(Result<NodeReport>)> done) {
  impl_->Devices(caller, std::move(done));
}
void Manager::Snapshot(const Caller& caller, const std::string& session, uint64_t newest_ns,
                       std::function<void(Result<SessionInfo>)> done) {
  const Result<std::shared_ptr<Session>> found = impl_->FindRunning(caller, session);
  if (!found.ok()) return done(found.status());
  (*found)->Snapshot(newest_ns, std::move(done));
}

void Manager::Pause(const auth::Caller& caller, const std::string& session, bool paused,
                    std::function<void(Result<SessionInfo>)> done) {
  const Result<std::shared_ptr<Session>> found = impl_->FindRunning(caller, session);
  if (!found.ok()) return done(found.status());
  if (!paused && !(*found)->is_paused()) {
    return done(Status(Code::kFailedPrecondition,
                       "session " + session + " is not paused; profctl pause " + session + " would do that"));
  }
  (*found)->Pause(paused, std::move(done));
}
void Manager::Targets(const Caller& caller, std::function<void(Result<std::vector<Target>>)> done) {
  impl_->Targets(caller, std::move(done));
}
void Manager::Stacks(const Caller& caller, pid_t pid, std::function<void(Result<ProcessStacks>)> done) {
  impl_->Stacks(caller, pid, std::move(done));
}
void Manager::Doctor(const Caller& caller, pid_t pid, std::function<void(Result<std::vector<Check>>)> done) {
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
Result<Taped> Manager::Tape(const Caller& caller, const TapeOrder& order) {
  return impl_->Tape(caller, order);
}
Node& Manager::node() { return impl_->node(); }
host::Sampler& Manager::sampler() { return impl_->sampler(); }
std::vector<SessionInfo> Manager::Open() const {
  std::vector<SessionInfo> infos;
  for (const auto& session : impl_->book().sessions()) {
    if (!session->ended()) infos.push_back(session->Info());
  }
  return infos;
}
Totals Manager::totals() const { return impl_->book().totals(); }
std::vector<QueueLoad> Manager::QueueLoads() const { return impl_->writers().Loads(); }
void Manager::Save(int level) { impl_->Save(level); }
void Manager::Shutdown(std::function<void()> done) { impl_->Shutdown(std::move(done)); }

}  // namespace profd::session
