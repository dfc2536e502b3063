// Every session of the node that is known: those that run, those that have ended, those of earlier lives of
// profd; and what is kept of them in the spool.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/auth/policy.h"
#include "daemon/base/aside.h"
#include "daemon/base/executor.h"
#include "daemon/config/config.h"
#include "daemon/session/history/archive.h"
#include "daemon/session/history/past.h"
#include "daemon/session/life/session.h"
#include "daemon/session/plan/types.h"

namespace profd::session {

// **Thread:** ctl only.
class Book {
 public:
  using Done = std::function<void(base::Result<SessionInfo>)>;

  Book(base::Executor& ctl, base::Timers& timers, base::Aside& aside, const config::Config& config);

  // Mends and reads what earlier lives have left, once; before anything is removed of it.
  void Begin();

  // Of this life, oldest first.
  const std::deque<std::shared_ptr<Session>>& sessions() const { return sessions_; }
  size_t open() const;
  // Of all sessions of this life.
  Totals totals() const;
  // What a session shares with others: quotas, free space.
  void Bind(Session::Setup& setup);
  void Add(const std::shared_ptr<Session>& session);
  void Erase(const std::shared_ptr<Session>& session);
  // It goes on as one of this life.
  void ForgetPast(const std::string& session) { past_.Forget(session); }

  // See Manager.
  std::vector<SessionInfo> List(const auth::Caller& caller) const;
  // The session that the caller means with its id, with its name (the newest of that name), or with `last`
  // (the newest of the caller's own). `session` itself where there is none.
  std::string IdOf(const auth::Caller& caller, const std::string& session) const;
  base::Result<SessionInfo> Get(const auth::Caller& caller, const std::string& session) const;
  // Whoever may see it: there is a session with this id.
  bool Has(const std::string& id) const;
  base::Result<StoredTrace> Locate(const auth::Caller& caller, const std::string& session,
                                   const std::string& directory) const;
  void Pin(const auth::Caller& caller, const std::string& session, bool pinned, Done done);
  void Remove(const auth::Caller& caller, const std::string& session, Done done);
  void Move(const auth::Caller& caller, const std::string& session, const std::string& output,
            std::shared_ptr<base::UniqueFd> to, Done done);

 private:
  // A session of which profd has removed everything.
  struct Gone {
    std::string id, name;
    uid_t uid = 0;
    std::string why;  // "for room on the disk (…)"
    uint64_t wall_ns = 0;
  };
  void TakePast(std::vector<SessionInfo> past);
  void ForgetOld();
  std::string NewestOf(uid_t uid) const;
  SessionInfo OnDisk(SessionInfo past) const;
  SessionInfo Shown(SessionInfo info) const;
  base::Result<SessionInfo> Changeable(const auth::Caller& caller, const std::string& session) const;
  base::Result<SessionInfo> Ended(const auth::Caller& caller, const std::string& session) const;
  void MoveToOutput(const std::shared_ptr<Session>& session);
  void MoveTo(const SessionInfo& info, std::shared_ptr<base::UniqueFd> to, const std::string& output,
              int attempts, const std::function<void(base::Status)>& done);
  void OnRemoved(const store::Kept& kept, const store::RemovedTrace& trace, const std::string& why);

  base::Timers& timers_;
  base::Aside& aside_;
  const config::Config& config_;
  Archive archive_;
  std::deque<std::shared_ptr<Session>> sessions_;
  Totals ended_;  // of sessions that are counted()
  PastSessions past_;
  std::deque<Gone> gone_;  // oldest first
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace profd::session
