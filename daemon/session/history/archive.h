// What is kept in the spool of sessions that have ended, and the quotas that they share with those that run:
// removes the oldest when room is needed, pins, removes on demand.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/status.h"
#include "base/unique_fd.h"
#include "daemon/auth/policy.h"
#include "daemon/base/aside.h"
#include "daemon/base/executor.h"
#include "daemon/config/config.h"
#include "daemon/store/spool/bounds.h"
#include "daemon/store/spool/kept.h"

namespace profd::session {

// **Thread:** ctl only; the disk is touched aside.
class Archive {
 public:
  // `removed` is told of every directory that is gone, what had been in it, and what it went for; "":
  // somebody wanted it away.
  using Removed = std::function<void(const store::Kept&, const store::RemovedTrace&, const std::string& why)>;
  Archive(base::Executor& ctl, base::Timers& timers, base::Aside& aside, const config::Config& config,
          Removed removed);

  // Looks through the spool, once: after its recovery. `counted` before anything is removed.
  void Begin(std::function<void()> counted = [] {});
  // What bounds a new session of `caller` that writes into `parent`.
  std::vector<std::shared_ptr<store::Bound>> BoundsFor(const auth::Caller& caller, int parent, bool in_spool);
  // A session and its directories; those outside of the spool are left out of everything here.
  struct Whole {
    std::string session;
    uid_t uid = 0;
    std::vector<std::string> directories;
  };
  // A running session writes to these no more.
  void TakeRolled(const Whole& session) {
    Take(session, true, [] {});
  }
  // `counted` once their bytes are counted here.
  void TakeEnded(const Whole& session, std::function<void()> counted);

  // What the directories of a session that has ended take on disk.
  uint64_t DiskBytes(const Whole& session) const;
  bool Pinned(const std::string& session, uid_t uid) const { return pinned_.contains({uid, session}); }
  // Who holds the room of the spool that is short: "user X holds …"; "": nobody does.
  std::string blamed() const { return tidier_->blamed(); }
  void Pin(const Whole& session, bool pinned, std::function<void(base::Status)> done);
  void Remove(const Whole& session, std::function<void(base::Status)> done);
  // Copies the directories of an ended session to `to`, each then leaves the spool: `moved` is told of every
  // one, `done` of the end. What fails and may yet succeed is tried `attempts` times.
  struct Moving {
    Whole session;
    std::shared_ptr<base::UniqueFd> to;
    std::string output;  // what `to` is called
    int attempts = 1;
    std::function<void(const std::string& directory)> moved;
    std::function<void(base::Status)> done;
  };
  // An error: nothing is moved, and neither is called.
  base::Status Move(Moving moving);

 private:
  // Folder in the spool and name of a directory.
  using Place = std::pair<std::string, std::string>;
  std::vector<Place> PlacesOf(const Whole& session) const;
  void Take(const Whole& session, bool of_running, std::function<void()> done);
  std::shared_ptr<store::Quota>& UserQuota(uid_t uid, const std::string& user);
  void Add(store::Kept kept);
  void Count(const store::Kept& kept, bool added);
  store::Kept* Find(const std::string& user, const std::string& name);
  const store::Kept* Find(const std::string& user, const std::string& name) const;
  void Forget(const store::Kept& kept, const store::RemovedTrace& trace, const std::string& why);
  void MoveNext(const std::shared_ptr<Moving>& moving);
  void EndMove(const Moving& moving, const base::Status& status);
  void RemoveNext(std::vector<Place> places, std::function<void(base::Status)> done);
  // Removes one directory after the other for as long as one has to go. While somebody runs and has called
  // for room that is early enough for him not to age; else only what is beyond the slack.
  void Tidy();
  void TidyOnce(const base::Result<store::Space>& space, uint64_t calls);
  // Looks at what users' folders really take: while room is short now and then, and when more of it is gone
  // than matters. False: that is known.
  bool MeasureFirst(uint64_t free_bytes, uint64_t matters_bytes);
  void TakeSizes(const std::map<std::string, store::FolderSize>& sizes);
  // Says who holds too much; "": nobody.
  void Blame(const store::Pressure& pressure, bool of_files);
  void CheckAge();

  base::Timers& timers_;
  base::Aside& aside_;
  const config::Config& config_;
  const Removed removed_;
  std::shared_ptr<store::Tidier> tidier_;
  std::shared_ptr<store::Quota> spool_;
  std::map<uid_t, std::shared_ptr<store::Quota>> users_;
  std::map<uid_t, uint64_t> other_files_;  // in users' folders, but not of sessions that ended
  std::map<uid_t, uint64_t> other_bytes_;  // in users' folders, counted for their quotas, but not profd's
  std::map<uid_t, std::string> names_;
  uint64_t next_measure_ns_ = 0;  // raw
  uint64_t free_then_ = 0;        // of the file system, the most since they were measured
  std::vector<store::Kept> kept_;
  std::set<std::pair<uid_t, std::string>> pinned_;
  std::set<std::pair<uid_t, std::string>> moving_;
  size_t running_ = 0;  // sessions with bounds
  size_t taking_ = 0;   // looks at what may go then; no call is answered before
  bool tidying_ = false;
  std::shared_ptr<char> alive_ = std::make_shared<char>();
};

}  // namespace profd::session
