// All sessions of the node: the only owner of session state, of the writers and of who uses which source.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/auth/policy.h"
#include "daemon/auth/rights.h"
#include "daemon/config/config.h"
#include "daemon/driver/driver.h"
#include "daemon/session/life/recordings/writers.h"
#include "daemon/session/node/check.h"
#include "daemon/session/node/node_report.h"
#include "daemon/session/node/process_stacks.h"
#include "daemon/session/node/taping.h"
#include "daemon/session/node/targets.h"
#include "daemon/session/plan/plan.h"
#include "daemon/session/plan/types.h"

namespace profd::agent {
class Registry;
}
namespace profd::base {
class Executor;
class Timers;
}  // namespace profd::base
namespace profd::fabric {
class Service;
}
namespace profd::host {
class Sampler;
}

namespace profd::session {

// Which sessions to stop: exactly one of the three.
struct StopTarget {
  std::string session;
  pid_t pid = 0;
  bool all = false;
};
struct Stopped {
  std::vector<SessionInfo> sessions;
  bool had_ended = false;  // before it was asked for
};

// **Thread:** ctl only; callbacks run on ctl.
class Manager {
 public:
  // `driver` may be null; `driver_error` then says why.
  // `timers`: the time of sessions, which in profd is ctl's.
  Manager(base::Executor& ctl, base::Timers& timers, const config::Config& config,
          std::shared_ptr<driver::Driver> driver, std::string driver_error, agent::Registry& agents,
          auth::Rights& rights, fabric::Service& fabric);
  ~Manager();
  Manager(const Manager&) = delete;
  Manager& operator=(const Manager&) = delete;

  // Answers when every kind is started, pending or refused; a failed start leaves nothing behind.
  void Start(const auth::Caller& caller, SessionSpec spec,
             std::function<void(base::Result<SessionInfo>)> done);
  // Answers when all of them are sealed; kNotFound names what was asked for.
  void Stop(const auth::Caller& caller, const StopTarget& target,
            std::function<void(base::Result<Stopped>)> done);
  base::Result<SessionInfo> Get(const auth::Caller& caller, const std::string& session);
  // Flight recorder: writes out what its processes have in memory, `newest_ns` back (0 = all of it).
  void Snapshot(const auth::Caller& caller, const std::string& session, uint64_t newest_ns,
                std::function<void(base::Result<SessionInfo>)> done);
  // A running session stores nothing, or goes on.
  void Pause(const auth::Caller& caller, const std::string& session, bool paused,
             std::function<void(base::Result<SessionInfo>)> done);
  // Never removed for room, or again as any other.
  void Pin(const auth::Caller& caller, const std::string& session, bool pinned,
           std::function<void(base::Result<SessionInfo>)> done);
  // Of a session that has ended, everything that is in the spool; answers with what it was.
  void Remove(const auth::Caller& caller, const std::string& session,
              std::function<void(base::Result<SessionInfo>)> done);
  // The same to the open directory `to`, of which `output` is the text; answers when it is there.
  void Move(const auth::Caller& caller, const std::string& session, const std::string& output,
            std::shared_ptr<auth::PassedDir> to, std::function<void(base::Result<SessionInfo>)> done);
  // Where one of the session's directories is, for a caller who may read it.
  base::Result<StoredTrace> Locate(const auth::Caller& caller, const std::string& session,
                                   const std::string& directory);
  // Newest first; of other users only for root.
  std::vector<SessionInfo> List(const auth::Caller& caller);
  void Devices(const auth::Caller& caller, std::function<void(base::Result<NodeReport>)> done);
  void Targets(const auth::Caller& caller, std::function<void(base::Result<std::vector<Target>>)> done);
  void Stacks(const auth::Caller& caller, pid_t pid, std::function<void(base::Result<ProcessStacks>)> done);
  void Doctor(const auth::Caller& caller, pid_t pid,
              std::function<void(base::Result<std::vector<Check>>)> done);
  // What the driver is asked and answers, for an admin who listens.
  base::Result<Taped> Tape(const auth::Caller& caller, const TapeOrder& order);

  // `lease` says who, which devices (or all there are), and from when to when. A session that stands on one
  // ends with it.
  void AddLease(const auth::Caller& caller, auth::Lease lease, bool all_devices,
                std::function<void(base::Result<auth::Lease>)> done);
  base::Result<auth::Lease> RemoveLease(const auth::Caller& caller, const std::string& id);
  // Of other users only for root.
  std::vector<auth::Lease> ListLeases(const auth::Caller& caller);

  // What the always-on values are read from.
  Node& node();
  host::Sampler& sampler();
  // Sessions that have not ended.
  std::vector<SessionInfo> Open() const;
  Totals totals() const;
  std::vector<QueueLoad> QueueLoads() const;
  // What profd does without to keep within limits (Metric kBudget): host samples from level 3 on. Sessions
  // say so.
  void Save(int level);

  // Seals every session with end reason daemon_stop; `done` when the last is on disk.
  void Shutdown(std::function<void()> done);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace profd::session
