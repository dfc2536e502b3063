// From a request to a running session: checked, planned, waited for, launched.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/auth/policy.h"
#include "daemon/auth/rights.h"
#include "daemon/base/aside.h"
#include "daemon/host/process/process.h"
#include "daemon/session/book.h"
#include "daemon/session/disk_probe.h"
#include "daemon/session/history/resumer.h"
#include "daemon/session/life/session.h"
#include "daemon/session/plan/types.h"
#include "daemon/store/spool/spool.h"

namespace profd::session {

// **Thread:** ctl only.
class Starter {
 public:
  using Done = std::function<void(base::Result<SessionInfo>)>;

  Starter(Services services, auth::Rights& rights, base::Aside& aside, Book& book, Resumer& resumer);

  void Start(const auth::Caller& caller, SessionSpec spec, Done done);
  // As if its owner had started it again.
  void Resume(ResumeRecord record);
  // What sessions go without from now on, for their status.
  void NoteSaving(const std::string& saving) { saving_ = saving; }
  // Who waits is told; nothing starts any more.
  void Shutdown();

 private:
  struct Request;
  using Processes = std::vector<host::ProcessFacts>;  // of the targets
  // Where the PROF directory goes.
  struct Output {
    base::Status status = base::Status(base::Code::kNotFound, "not opened yet");
    base::UniqueFd parent;
    std::string parent_path;
    base::UniqueFd move_to;  // afterwards
    dev_t file_system = 0;   // of `parent` …
    store::Space space;      // … and what it has; 0 = not known
  };

  base::Status CheckRoom(const auth::Caller& caller) const;
  // A user's CPU profiles cost everybody who runs.
  base::Status CheckProfiles(const auth::Caller& caller, const SessionSpec& spec) const;
  base::Status CheckMemory(const SessionSpec& spec) const;
  base::Status PlanWindows(Request* request, NodeFacts* facts) const;
  base::Result<NodeFacts> FactsFor(const Request& request, const Processes& processes) const;
  void Admit(const std::shared_ptr<Request>& request);
  void AskAgents(const std::shared_ptr<Request>& request);
  void Prepare(const std::shared_ptr<Request>& request);
  void PlanStart(const std::shared_ptr<Request>& request, const Processes& processes, Output output);
  // **Thread:** aside.
  static Output OpenOutput(const Request& request, const std::string& spool, bool spool_first,
                           store::IfMissing missing);
  void MakeOutput(const std::shared_ptr<Request>& request);
  static SessionInfo PlannedOf(const Request& request);
  void Launch(const std::shared_ptr<Request>& request, Output output);
  void Refuse(const std::shared_ptr<Request>& request, const base::Status& status);
  void NameCollectors(const std::shared_ptr<Request>& request, const base::Status& status);
  void Remember(const std::shared_ptr<Session>& session);

  const Services services_;
  auth::Rights& rights_;
  base::Aside& aside_;
  Book& book_;
  Resumer& resumer_;
  DiskProbe probe_;
  std::deque<std::shared_ptr<Request>> waiting_;  // for what others hold
  uint32_t next_trace_ = 1;
  const uint64_t cpus_, interfaces_;  // of this host, when profd began
  std::string saving_;
  bool shutting_down_ = false;
};

}  // namespace profd::session
