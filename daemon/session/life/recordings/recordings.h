// The processes of a session that record themselves: claims them, arms and fires them together, has their
// lanes drained into the session's present trace, lets late ones join, stops them.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/status.h"
#include "daemon/agent/drain.h"
#include "daemon/agent/peer.h"
#include "daemon/agent/registry.h"
#include "daemon/base/aside.h"
#include "daemon/base/timers.h"
#include "daemon/chunk/pipe.h"
#include "daemon/session/life/recordings/agent_verdicts.h"
#include "daemon/session/plan/plan.h"
#include "daemon/session/plan/types.h"
#include "format/directory/manifest.h"

namespace profd::session {

// A trace as agents see it.
struct RecordingSink {
  uint32_t trace = 0;
  chunk::Pipe* pipe = nullptr;
  double counter_mhz = 0;  // of the host, as its directory says; 0: not known
};

// **Thread:** ctl only; callbacks run on ctl. Outlived by timers, registry and drain.
class Recordings : public std::enable_shared_from_this<Recordings> {
 public:
  struct Setup {
    std::string holder;  // "session 3f2a91c0 of alice"
    uid_t uid = 0;       // processes of others join for root only
    std::vector<AgentStart> starts;
    agent::StepSchedule steps;
    agent::DomainFilter domains;
    bool flight_recorder = false;
    SnapshotOn snapshot_on = SnapshotOn::kAsked;
    base::Aside& aside;
  };

  Recordings(base::Timers& timers, agent::Registry& registry, agent::Drain& drain, Setup setup);
  ~Recordings();

  // Arms all processes, then fires those that are ready at one instant. Their records wait in their rings for
  // the first Move(), so that nobody waits for a directory.
  void Begin();
  // `done` when every process has begun or failed to.
  void WhenBegun(std::function<void()> done);
  // Of a kind of a process of Setup::starts, its later programs and its children …
  AgentVerdict VerdictOf(pid_t target, format::Kind kind) const;
  // … which changes as they come and go, or load what they lacked; told to the latest caller: at once, and
  // `settled` a second later, once for all changes in it.
  using Changed = std::function<void(bool settled)>;
  void OnVerdicts(Changed changed) { on_verdicts_ = std::move(changed); }
  // Why processes are not recorded.
  std::vector<base::Status> Refusals() const;
  // Called before kinds of a target begin late, which go on with the continuation, and at once for those that
  // have begun so; `take_back` when none of a target's processes records kernels after all. Told to the
  // latest caller.
  using MakeWay = std::function<void(pid_t target, std::function<void()> go_on)>;
  void OnLateKinds(MakeWay make_way, std::function<void(pid_t target)> take_back);
  // Called when a target has become another program.
  void OnBecame(std::function<void(pid_t target)> became) { on_became_ = std::move(became); }
  // From here on everything goes to this trace. `done`: the one before gets nothing more.
  void Move(RecordingSink sink, std::function<void()> done);
  // Ends all of them; `done`: everything that was published is on its way to the writer.
  void Stop(std::function<void()> done);
  // The processes record nothing until Resume(), and need not be told apart from those that join meanwhile.
  // `done`: it is so.
  void Pause(std::function<void()> done);
  void Resume(std::function<void()> done);
  // Flight recorder: writes out what is in memory, `newest_ns` back (0 = all).
  void Snapshot(uint64_t newest_ns, std::function<void()> done);
  // Called when what a process had in memory at its end is written (SnapshotOn).
  void OnWritesAtEnd(std::function<void()> writes) { on_writes_at_end_ = std::move(writes); }
  // … and there is some, of processes that live or have ended.
  bool HaveMemory() const;
  // The trace that everything goes to now.
  uint32_t trace() const { return sink_.trace; }
  // A trace that is sealed: its counts are not asked for again.
  void Forget(uint32_t trace);
  // Called once, when the last step window of every process is over.
  void OnStepsDone(std::function<void()> done) { on_steps_done_ = std::move(done); }

  // What went into one trace, for its manifest and counts.
  std::vector<format::ManifestAgent> Agents(uint32_t trace) const;
  // Adds the counts of one trace to the kinds of a plan.
  void AddCounts(uint32_t trace, std::vector<KindState>& kinds) const;
  // What went wrong while recording.
  const std::vector<std::string>& troubles() const { return troubles_; }
  // Of the filter's domains those that no process had when its recording ended.
  std::vector<std::string> UnseenDomains() const;

  // Name of a stream of Agents(): they count from here, two for each process, lanes and names.
  static constexpr uint32_t kFirstStream = 1u << 24;
  // … and of what CANN's modules have reported to all of them.
  static constexpr uint32_t kFirstReports = 1u << 23;

 private:
  // One attachment of a process in one trace.
  struct Part {
    uint32_t trace = 0;
    std::shared_ptr<agent::RecordingStats> stats;
    format::ManifestAgent manifest;
    size_t start = 0;  // into Setup::starts
  };
  struct Member {
    std::shared_ptr<agent::Peer> peer;
    size_t start = 0;
    agent::Drain::Id drain = 0;
    std::shared_ptr<Part> part;  // in the present trace
    bool armed = false;
    bool ended = false;  // being stopped, or gone
    std::vector<std::function<void()>> on_ended;
    bool steps_done = false;
    bool adding = false;       // its agent has not answered AddKinds yet
    bool handed_over = false;  // somebody else receives what CANN reports
    std::shared_ptr<AgentOutcome> outcome;
  };
  using MemberPtr = std::shared_ptr<Member>;

  agent::Arm Prepare(const MemberPtr& member);
  agent::Arm ArmOf(const Member& member) const;
  void Arm(const MemberPtr& member, std::function<void()> done);
  void ArmAndFire(const MemberPtr& member, std::function<void()> done);
  void Fire(const MemberPtr& member, uint64_t at_raw_ns, std::function<void()> done);
  MemberPtr Take(const std::shared_ptr<agent::Peer>& peer, size_t start);
  static void NoteArmed(Member& member, const agent::Ack& ack);
  void NoteReportsBefore(Member& member);
  static void NoteFailed(Member& member, base::Status status);
  static void NoteGone(AgentOutcome& outcome);
  void OnCapabilities(const MemberPtr& member);
  std::vector<format::Kind> ReportedKinds(const Member& member) const;
  void NoteHandedOver(Member& member);
  void TellHandedOver(const Member& member, const std::string& to);
  void AddKinds(const MemberPtr& member, std::vector<format::Kind> kinds);
  void TakeBackWithout(pid_t target);
  void TellVerdicts();
  void NoteEnded(const Member& member);
  void NoteOver();
  void NoteBegun(const Member& member, const agent::Ack& ack, uint64_t meant_ns);
  void End(const MemberPtr& member, const std::string& why, std::function<void()> done);
  void NoteStopped(const Member& member, const agent::Ack& ack);
  void CutOff(const MemberPtr& member);
  void OnGone(const MemberPtr& member);
  static bool IsKept(const MemberPtr& member);
  void Drained(const MemberPtr& member, const std::string& why);
  bool WritesAtEnd(const Member& member) const;
  void OnArrival(const std::shared_ptr<agent::Peer>& peer);
  void OnStepWindow(const MemberPtr& member, const agent::StepWindow& window);
  agent::DrainTarget TargetFor(const MemberPtr& member);
  abi::LaneClock NoteClock(const Member& member) const;  // into the manifest, too
  void Trouble(const std::string& what);

  base::Timers& timers_;
  agent::Registry& registry_;
  agent::Drain& drain_;
  const Setup setup_;
  RecordingSink sink_;
  std::shared_ptr<agent::ReportFiles> reports_;  // of the sink's trace
  bool begun_ = false;
  bool stopping_ = false;
  bool paused_ = false;
  std::vector<std::shared_ptr<agent::Peer>> arrived_;  // while it was paused
  std::vector<AgentOutcomes> outcomes_;                // by Setup::starts
  std::vector<std::function<void()>> on_begun_;
  Changed on_verdicts_;
  bool settles_ = false;
  MakeWay make_way_;
  std::function<void(pid_t)> take_back_;
  std::set<pid_t> late_targets_;  // with kinds that began late
  std::function<void(pid_t)> on_became_;
  std::function<void()> on_writes_at_end_;
  std::vector<MemberPtr> members_;  // present ones
  std::vector<std::shared_ptr<Part>> parts_;
  std::map<std::pair<uint32_t, pid_t>, uint32_t> attachments_;  // trace, pid
  uint32_t next_stream_ = kFirstStream;
  agent::Registry::WatchId arrivals_ = 0;
  std::function<void()> on_steps_done_;
  std::vector<std::string> troubles_;
  std::set<std::string> seen_domains_;  // of processes whose recording has ended
};

}  // namespace profd::session
