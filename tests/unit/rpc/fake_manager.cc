#include "tests/unit/rpc/fake_manager.h"

#include <cstdlib>
#include <utility>

// The signatures are the manager's, which keeps what it is given.
// NOLINTBEGIN(performance-unnecessary-value-param)
namespace profd::session {

namespace {

std::unique_ptr<FakeSessions>& Instance() {
  static auto instance = std::make_unique<FakeSessions>();
  return instance;
}

}  // namespace

FakeSessions& Fake() { return *Instance(); }
void ResetFake() { Instance() = std::make_unique<FakeSessions>(); }

class Manager::Impl {};

Manager::Manager(base::Executor& /*ctl*/, base::Timers& /*timers*/, const config::Config& /*config*/,
                 std::shared_ptr<driver::Driver> /*driver*/, std::string /*driver_error*/,
                 agent::Registry& /*agents*/, auth::Rights& /*rights*/, fabric::Service& /*fabric*/) {}
Manager::~Manager() = default;

void Manager::Start(const auth::Caller& caller, SessionSpec spec,
                    std::function<void(base::Result<SessionInfo>)> done) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  fake.started = std::move(spec);
  if (fake.never_answer) {
    fake.unanswered.push_back(std::move(done));
  } else if (!fake.start_error.ok()) {
    done(fake.start_error);
  } else {
    done(fake.sessions.begin()->second);
  }
}

void Manager::Stop(const auth::Caller& caller, const StopTarget& target,
                   std::function<void(base::Result<Stopped>)> done) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  fake.stopped = target;
  Stopped answer;
  for (auto& [id, info] : fake.sessions) {
    info.state = State::kSealed;
    info.end_reason = EndReason::kStopped;
    answer.sessions.push_back(info);
  }
  done(std::move(answer));
}

base::Result<SessionInfo> Manager::Get(const auth::Caller& caller, const std::string& session) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  const auto it = fake.sessions.find(session);
  if (it == fake.sessions.end()) return base::Status(base::Code::kNotFound, "no session " + session);
  return it->second;
}

void Manager::Snapshot(const auth::Caller& caller, const std::string& session, uint64_t newest_ns,
                       std::function<void(base::Result<SessionInfo>)> done) {
  {
    const std::lock_guard lock(Fake().mutex);
    Fake().snapshot_ns = newest_ns;
  }
  done(Get(caller, session));
}

void Manager::Pause(const auth::Caller& caller, const std::string& session, bool /*paused*/,
                    std::function<void(base::Result<SessionInfo>)> done) {
  done(Get(caller, session));
}

void Manager::Pin(const auth::Caller& caller, const std::string& session, bool pinned,
                  std::function<void(base::Result<SessionInfo>)> done) {
  {
    const std::lock_guard lock(Fake().mutex);
    if (const auto it = Fake().sessions.find(session); it != Fake().sessions.end())
      it->second.pinned = pinned;
  }
  done(Get(caller, session));
}

base::Result<StoredTrace> Manager::Locate(const auth::Caller& caller, const std::string& session,
                                          const std::string& /*directory*/) {
  PROFD_RETURN_IF_ERROR(Get(caller, session).status());
  return base::Status(base::Code::kFailedPrecondition, "nothing is in a spool here");
}

void Manager::Remove(const auth::Caller& caller, const std::string& session,
                     std::function<void(base::Result<SessionInfo>)> done) {
  const base::Result<SessionInfo> info = Get(caller, session);
  {
    const std::lock_guard lock(Fake().mutex);
    Fake().sessions.erase(session);
  }
  done(info);
}

void Manager::Move(const auth::Caller& caller, const std::string& session, const std::string& output,
                   std::shared_ptr<auth::PassedDir> to, std::function<void(base::Result<SessionInfo>)> done) {
  {
    const std::lock_guard lock(Fake().mutex);
    Fake().moved_to = {output, std::move(to)};
  }
  done(Get(caller, session));
}

std::vector<SessionInfo> Manager::List(const auth::Caller& caller) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  std::vector<SessionInfo> all;
  for (const auto& [id, info] : fake.sessions) all.push_back(info);
  return all;
}

void Manager::Devices(const auth::Caller& caller, std::function<void(base::Result<NodeReport>)> done) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  done(fake.node);
}

void Manager::Targets(const auth::Caller& caller,
                      std::function<void(base::Result<std::vector<Target>>)> done) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  done(fake.targets);
}

void Manager::Stacks(const auth::Caller& /*caller*/, pid_t pid,
                     std::function<void(base::Result<ProcessStacks>)> done) {
  ProcessStacks stacks;
  stacks.pid = pid;
  done(std::move(stacks));
}

void Manager::Doctor(const auth::Caller& caller, pid_t pid,
                     std::function<void(base::Result<std::vector<Check>>)> done) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  fake.doctor_pid = pid;
  done(fake.checks);
}

base::Result<Taped> Manager::Tape(const auth::Caller& caller, const TapeOrder& order) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  fake.taped = order;
  return fake.tape;
}

void Manager::AddLease(const auth::Caller& caller, auth::Lease lease, bool /*all_devices*/,
                       std::function<void(base::Result<auth::Lease>)> done) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  lease.id = "1ea5e000";
  fake.leases.push_back(lease);
  done(lease);
}

base::Result<auth::Lease> Manager::RemoveLease(const auth::Caller& caller, const std::string& id) {
  FakeSessions& fake = Fake();
  const std::lock_guard lock(fake.mutex);
  fake.caller = caller;
  if (fake.leases.empty() || fake.leases.back().id != id)
    return base::Status(base::Code::kNotFound, "no lease " + id);
  const auth::Lease lease = fake.leases.back();
  fake.leases.pop_back();
  return lease;
}

std::vector<auth::Lease> Manager::ListLeases(const auth::Caller& /*caller*/) {
  const std::lock_guard lock(Fake().mutex);
  return Fake().leases;
}

// Nobody watches values here.
Node& Manager::node() { std::abort(); }
host::Sampler& Manager::sampler() { std::abort(); }
std::vector<SessionInfo> Manager::Open() const { return {}; }
Totals Manager::totals() const { return {}; }
std::vector<QueueLoad> Manager::QueueLoads() const { return {}; }
void Manager::Save(int) {}

void Manager::Shutdown(std::function<void()> done) { done(); }

}  // namespace profd::session
// NOLINTEND(performance-unnecessary-value-param)
