// One request's life (states.h has its phases). Owns its traces (one, and a new linked one every roll_after)
// and everything that ends it: duration, targets, stop.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/unique_fd.h"
#include "daemon/auth/policy.h"
#include "daemon/session/life/states.h"
#include "daemon/session/life/trace.h"
#include "daemon/session/life/windows.h"
#include "daemon/session/plan/plan.h"
#include "daemon/session/plan/types.h"

namespace profd::session {

// **Thread:** ctl only; callbacks run on ctl.
class Session : public std::enable_shared_from_this<Session> {
 public:
  struct Setup {
    std::string id;
    auth::Caller owner;
    SessionSpec spec;
    std::shared_ptr<const Plan> plan;
    base::UniqueFd parent;
    std::string parent_path;
    dev_t file_system = 0;
    base::UniqueFd move_to;                 // of --output, when the spool comes first
    std::string target_name;                // of the first pid
    std::map<pid_t, uint64_t> start_ticks;  // of the targets: host::ProcessFacts
    std::vector<std::string> directories;   // of the same session before a restart of profd
    std::function<uint32_t()> next_trace_id;
    std::vector<std::shared_ptr<store::Bound>> bounds;
    // A directory that is sealed while the session goes on in the next one; not with a storage limit.
    std::function<void(const std::string& directory)> on_rolled;
    std::vector<WindowStart> windows;
    std::vector<Window> refused_windows;
  };
  Session(Services services, Setup setup);
  ~Session();

  void Start(std::function<void(base::Result<SessionInfo>)> done);
  // Any number of times; every caller is answered when the session is sealed or failed.
  void Stop(EndReason reason, std::function<void(SessionInfo)> done);

  // Stores nothing, or goes on. Answers with the present state.
  void Pause(bool paused, std::function<void(base::Result<SessionInfo>)> done);

  // Flight recorder: writes out what its processes and profd have in memory, `newest_ns` back (0 = all of
  // it). Answers with the present state.
  void Snapshot(uint64_t newest_ns, std::function<void(base::Result<SessionInfo>)> done);

  // `ended` gets the session once it is sealed or has failed.
  void WhenEnded(std::function<void(SessionInfo)> ended) { on_sealed_.push_back(std::move(ended)); }
  // One of its directories is gone: bytes on disk, bytes and records in it, and what it went for.
  void NoteRemoved(const std::string& directory, uint64_t disk_bytes, uint64_t bytes, uint64_t records,
                   const std::string& why);
  double WriteRate() const { return WriteRateOf(*setup_.plan, services_.node.devices()); }
  int parent() const { return setup_.parent.get(); }
  dev_t file_system() const { return setup_.file_system; }
  // Ended: where its directories are to be moved to, once; none: they are where they belong.
  base::UniqueFd TakeMoveTo() { return std::move(setup_.move_to); }
  void NoteMoving(const std::string& output);
  void NoteMoved(const std::string& directory, const std::string& output);
  void NoteMoveEnded(const std::string& output, const base::Status& status);
  // What the disk was found to take.
  void NoteProbe(double bytes_per_second);
  // Of what may become a loss.
  void Warn(std::string warning) { warnings_.push_back(std::move(warning)); }
  // What profd leaves out to keep within its limits; "" = nothing.
  void NoteSaving(std::string saving) { saving_ = std::move(saving); }
  // Ended, and counted for elsewhere.
  void LeaveBounds() { budget_->LeaveBounds(); }
  const SessionSpec& spec() const { return setup_.spec; }
  const std::map<pid_t, uint64_t>& start_ticks() const { return setup_.start_ticks; }
  const auth::Caller& owner() const { return setup_.owner; }

  SessionInfo Info() const;
  bool is_paused() const { return paused_; }  // because somebody asked for it
  State state() const { return StateOf(phase_); }
  // Its last figures are in the node's totals.
  void NoteCounted() { counted_ = true; }
  bool counted() const { return counted_; }
  bool ended() const { return phase_ == Phase::kSealed || phase_ == Phase::kFailed; }
  const std::string& id() const { return setup_.id; }
  uid_t uid() const { return setup_.owner.uid; }
  bool Targets(pid_t pid) const;

 private:
  std::shared_ptr<Trace> NewTrace(bool all_or_nothing = false);
  // The event's step in the table; what cannot come in this phase is logged, and false.
  bool Take(Event event);
  void OnArmed();
  void OnInstant();
  void OnFired(const base::Status& status);
  uint64_t DelayLeft() const;
  void OnRunning();
  // Takes apart what there is, and answers.
  void Fail(EndReason reason, const base::Status& status);
  void LetGo(const base::Status& status);
  void OnRolled();
  void WatchTargets();
  void OnTargetExit(pid_t pid);
  void OnTargetBecame(pid_t pid);
  void BeginWindows();
  // Of what ends it: not before the last window is over.
  void StopWithWindows(EndReason reason);
  void Tick();
  void Roll();
  void Seal();
  void WriteRecentForDeath();
  void StopTimers();
  void NoteUnseenDomains();
  // Once each.
  static void AddReason(std::vector<std::string>& reasons, const std::string& reason);
  std::vector<std::string> Degraded() const;
  std::vector<std::string> Warnings() const;
  std::vector<KindState> Kinds() const;

  Services services_;
  Setup setup_;
  std::string holder_;  // "session 3f2a91c0 of alice since …", for those who want what it has
  bool counted_ = false;
  Phase phase_ = Phase::kMaking;
  EndReason end_reason_ = EndReason::kNone;
  std::string error_;
  std::shared_ptr<Recordings> recordings_;  // null without agents
  const std::shared_ptr<Perturbations> perturbations_;
  std::shared_ptr<Windows> windows_;  // null: none
  EndReason after_windows_ = EndReason::kNone;
  std::shared_ptr<store::Budget> budget_;
  std::vector<std::shared_ptr<store::Bound>> quotas_;
  std::shared_ptr<store::RecentChunks> recent_;  // of a flight recorder; else null
  std::shared_ptr<Trace> trace_;
  std::vector<std::shared_ptr<Trace>> rolled_;  // earlier ones, while they may age or have chunks in memory
  std::vector<std::string> directories_;
  std::vector<std::string> removed_;       // names of those that are gone
  std::vector<KindState> finished_kinds_;  // sums of the traces before the current one
  std::vector<std::string> degraded_;
  std::vector<std::string> warnings_;
  std::string moving_to_;     // where its directories are on their way to
  std::string move_failure_;  // why they are not there
  std::string saving_;
  std::function<void(base::Result<SessionInfo>)> on_started_;
  std::vector<std::function<void(SessionInfo)>> on_sealed_;
  std::map<pid_t, std::pair<base::UniqueFd, base::Executor::WatchId>> targets_;
  std::vector<base::Timers::Id> timers_;
  base::Timers::Id tick_ = 0;
  uint64_t start_wall_ns_ = 0;
  uint64_t start_raw_ns_ = 0;
  uint64_t elapsed_ns_ = 0;  // once it has ended
  uint64_t trace_start_ns_ = 0;
  uint64_t ticks_ = 0;
  bool paused_ = false;
};

}  // namespace profd::session
